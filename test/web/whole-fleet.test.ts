import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeBrowser, openTab, startBrowser, type Tab } from '../support/browser.ts';
import { seedFleet } from '../support/seed-fleet.ts';
import { testDatabaseUrl } from '../support/postgres/test-database-url.ts';
import { signIn } from './sign-in.ts';

const CLUSTERS = 10_000;

describeBrowser('the page with ten thousand clusters', () => {
  let browser: Browser;
  let plane: RunningControlPlane;
  let tab: Tab;

  beforeAll(async () => {
    browser = await startBrowser();
    plane = await RunningControlPlane.start();
    await seedFleet(await testDatabaseUrl(plane.folder), { clusters: CLUSTERS, intents: 2000 });
  }, 120_000);

  afterAll(async () => {
    await browser.close();
    await plane[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    tab = await openTab(browser);
    return async () => {
      const { faults } = tab;
      await tab[Symbol.asyncDispose]();
      expect(faults).toEqual([]);
    };
  });

  const rows = () => tab.page.locator('.virtual-body [role=row]');

  it('draws a few rows of them, says how many there are, and loads more by key as one scrolls', async () => {
    const asked: string[] = [];
    tab.page.on('request', (request) => {
      if (request.url().includes('/api/v1/clusters?')) asked.push(request.url());
    });
    await signIn(tab.page, plane.url, plane.token, '#/clusters');
    const table = tab.page.getByRole('table', { name: 'Clusters' });
    await table.waitFor();
    await expect.poll(async () => await table.getAttribute('aria-rowcount')).toBe(String(CLUSTERS + 1));
    expect(await rows().count()).toBeLessThan(60);
    await tab.page.getByText('10,000 clusters').waitFor();
    for (let step = 0; step < 3; step += 1) {
      await tab.page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      const loaded = 200 * (step + 2);
      await expect
        .poll(async () => await tab.page.evaluate<number>("document.querySelector('.virtual-body').offsetHeight / 44"))
        .toBeGreaterThanOrEqual(loaded);
    }
    expect(await rows().count()).toBeLessThan(60);
    const index = Number(await rows().last().getAttribute('aria-rowindex'));
    expect(index).toBeGreaterThan(500);
    expect(asked.filter((url) => url.includes('cursor=')).length).toBeGreaterThanOrEqual(3);
    // A cluster and back: the list is where it was left.
    await rows().nth(10).getByRole('link').first().click();
    await tab.page.getByRole('navigation', { name: 'Of this cluster' }).waitFor();
    await tab.page.getByText('Last contact', { exact: true }).waitFor();
    expect(await tab.page.getByText('This cannot be shown').count()).toBe(0);
    await tab.page.goBack();
    await table.waitFor();
    const height = await tab.page.evaluate<number>("document.querySelector('.virtual-body').offsetHeight / 44");
    expect(height).toBeGreaterThanOrEqual(800);
  });

  it('is walked through by the keyboard, beyond what is drawn', async () => {
    await signIn(tab.page, plane.url, plane.token, '#/clusters');
    await rows().first().getByRole('link').first().focus();
    await tab.page.keyboard.press('ArrowDown');
    const focused = async () =>
      await tab.page.evaluate<string>(
        "document.activeElement.closest('[role=row]')?.getAttribute('aria-rowindex') ?? ''",
      );
    await expect.poll(focused).toBe('3');
    for (let press = 0; press < 6; press += 1) {
      await tab.page.keyboard.press('PageDown');
      await expect.poll(focused).toBe(String(3 + 20 * (press + 1)));
    }
    await tab.page.keyboard.press('Home');
    await expect.poll(focused).toBe('2');
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('navigation', { name: 'Of this cluster' }).waitFor();
  });

  it('is filtered by what is in the address, and keeps a filter under a name', async () => {
    await signIn(tab.page, plane.url, plane.token, '#/clusters?label=env%3Dprod&status=Active');
    const table = tab.page.getByRole('table', { name: 'Clusters' });
    await table.waitFor();
    expect(await tab.page.getByLabel('Labels').inputValue()).toBe('env=prod');
    expect(await tab.page.getByLabel('Status').inputValue()).toBe('Active');
    await expect.poll(async () => await rows().first().textContent()).toMatch(/^prod-/);
    await tab.page.getByLabel('Name begins with').fill('prod-eu');
    await tab.page.waitForURL(/q=prod-eu/);
    await expect.poll(async () => await rows().first().getByRole('link').first().textContent()).toMatch(/^prod-eu/);
    await tab.page.getByRole('button', { name: 'Save filter' }).click();
    await tab.page.getByLabel(/^Name \(/).fill('eu-prod');
    await tab.page.getByRole('button', { name: 'Save', exact: true }).click();
    await tab.page.getByRole('dialog').waitFor({ state: 'detached' });
    await tab.page.getByRole('button', { name: 'Clear' }).click();
    await tab.page.waitForURL(/#\/clusters$/);
    await tab.page.getByLabel('Saved filters').selectOption({ label: 'eu-prod' });
    await tab.page.waitForURL(/q=prod-eu/);
    expect((await plane.call('GET', '/saved-filters/eu-prod')).body).toMatchObject({ list: 'clusters' });
  });

  it('counts the fleet, with numbers that lead to what they count', async () => {
    await signIn(tab.page, plane.url, plane.token, '#/?groupBy=env');
    await tab.page.getByRole('link', { name: '10,000 clusters' }).waitFor();
    const { body } = await plane.call('GET', '/fleet');
    const unreachable = body['clusters'].byHealth.unreachable as number;
    await tab.page.getByRole('link', { name: `${unreachable} unreachable`, exact: true }).click();
    await tab.page.waitForURL(/#\/clusters\?health=unreachable$/);
    await expect.poll(async () => await rows().first().textContent()).toContain('unreachable');
    await tab.page.goBack();
    await tab.page
      .getByRole('table', { name: 'Clusters by env' })
      .getByRole('link', { name: 'prod', exact: true })
      .click();
    await tab.page.waitForURL(/label=env%3Dprod$/);
  });

  it('finds a cluster from everywhere by its name', async () => {
    await signIn(tab.page, plane.url, plane.token);
    await tab.page.getByRole('heading', { name: 'Fleet' }).waitFor();
    await tab.page.keyboard.press('/');
    await tab.page.keyboard.type('prod-eu-00000');
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { name: 'Search for prod-eu-00000' }).waitFor();
    await tab.page.getByRole('link', { name: 'prod-eu-00000', exact: true }).first().click();
    await tab.page.getByRole('navigation', { name: 'Of this cluster' }).waitFor();
    expect(tab.page.url()).toBe(`${plane.url}/#/clusters/prod-eu-00000`);
  });
});
