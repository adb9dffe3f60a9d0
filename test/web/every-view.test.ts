import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { axeViolations } from '../support/axe.ts';
import { describeBrowser, openTab, startBrowser, type Tab } from '../support/browser.ts';
import { goTo, signIn } from './sign-in.ts';

/** Every address that leads somewhere in a new control plane, with its heading. */
const VIEWS: readonly (readonly [address: string, heading: string | RegExp])[] = [
  ['/', 'Fleet'],
  ['/?groupBy=env', 'Fleet'],
  ['/clusters', 'Clusters'],
  ['/clusters?q=nothing-begins-so', 'Clusters'],
  ['/clusters/prod-eu', 'Production, Europe'],
  ['/clusters/prod-eu/applications', 'Production, Europe'],
  ['/clusters/prod-eu/applications/shop/podinfo', 'shop/podinfo'],
  ['/clusters/prod-eu/operations', 'Production, Europe'],
  ['/clusters/prod-eu/intents', 'Production, Europe'],
  ['/clusters/prod-eu/conditions', 'Production, Europe'],
  ['/clusters/prod-eu/events', 'Production, Europe'],
  ['/clusters/prod-eu/credentials', 'Production, Europe'],
  ['/clusters/prod-eu/install', 'Production, Europe'],
  ['/clusters/prod-us/credentials', 'prod-us'],
  ['/clusters/prod-eu/mode', 'Mode of prod-eu'],
  ['/clusters/prod-eu/applications/shop/podinfo/change', 'Change shop/podinfo'],
  ['/catalog/podinfo/install', 'Install podinfo'],
  ['/catalog/podinfo/install?cluster=prod-eu', 'Install podinfo'],
  ['/templates/velero-backup/run?cluster=prod-eu', 'Run velero-backup'],
  ['/history/fleet', 'History of fleet'],
  ['/applications', 'Applications'],
  ['/intents', 'Intents'],
  ['/operations', 'Operations'],
  ['/proposals', 'Proposals'],
  ['/approvals', 'Approvals'],
  ['/audit', 'Audit'],
  ['/history', 'Repositories'],
  ['/catalog', 'Catalog'],
  ['/catalog/podinfo', /podinfo/],
  ['/templates', /emplates/],
  ['/members', 'Members'],
  ['/tokens', 'Tokens'],
  ['/settings', 'Settings'],
  ['/search?q=prod', 'Search for prod'],
  ['/search', 'Search'],
  ['/nowhere', 'There is no such page'],
];

describeBrowser('every view of the page', () => {
  let browser: Browser;
  let plane: RunningControlPlane;

  beforeAll(async () => {
    browser = await startBrowser();
    plane = await RunningControlPlane.start();
    await plane.putPodinfo();
    const cluster = await plane.newCluster('prod-eu', {
      displayName: 'Production, Europe',
      labels: { env: 'prod', team: 'shop' },
    });
    await plane.newCluster('prod-us', { connectivityMode: 'push', labels: { env: 'prod' } });
    await plane.call('POST', `/clusters/${cluster}/intents`, INSTALL);
    await plane.call('POST', '/members', { name: 'rita', access: ['approver'], displayName: 'Rita Approves' });
  });

  afterAll(async () => {
    await browser.close();
    await plane[Symbol.asyncDispose]();
  });

  let tab: Tab;
  beforeEach(async () => {
    tab = await openTab(browser);
    return async () => {
      const { faults } = tab;
      await tab[Symbol.asyncDispose]();
      expect(faults).toEqual([]);
    };
  });

  it('has no violation that axe finds, in both themes', { timeout: 180_000 }, async () => {
    await signIn(tab.page, plane.url, plane.token);
    const found: Record<string, readonly string[]> = {};
    for (const [address, heading] of VIEWS) {
      await goTo(tab.page, address, heading);
      const violations = await axeViolations(tab.page);
      if (violations.length > 0) found[address] = violations;
    }
    expect(found).toEqual({});
  });

  it.each([360, 820])('needs no scrolling to the side at %i pixels', { timeout: 120_000 }, async (width) => {
    await using narrow = await openTab(browser, width);
    await signIn(narrow.page, plane.url, plane.token);
    const found: string[] = [];
    for (const [address, heading] of VIEWS) {
      await goTo(narrow.page, address, heading);
      const over = await narrow.page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
      if (over !== 0) found.push(`${address}: ${String(over)}`);
    }
    expect(found).toEqual([]);
    expect(narrow.faults).toEqual([]);
  });

  it('is clean in its dialogs too', { timeout: 60_000 }, async () => {
    await signIn(tab.page, plane.url, plane.token, '#/clusters/prod-eu/credentials');
    const found: string[] = [];
    for (const [address, heading, button] of [
      ['/clusters', 'Clusters', 'New cluster'],
      ['/clusters/prod-eu', 'Production, Europe', 'Change'],
      ['/clusters/prod-eu/credentials', 'Production, Europe', 'Disable'],
      ['/members', 'Members', 'Add a member'],
      ['/tokens', 'Tokens', 'New token'],
    ] as const) {
      await goTo(tab.page, address, heading);
      await tab.page.getByRole('button', { name: button, exact: true }).click();
      await tab.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).waitFor();
      found.push(...(await axeViolations(tab.page)).map((violation) => `${button}: ${violation}`));
      await tab.page.keyboard.press('Escape');
      await tab.page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    expect(found).toEqual([]);
  });
});
