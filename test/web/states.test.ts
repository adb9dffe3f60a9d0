import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { axeViolations } from '../support/axe.ts';
import { describeBrowser, openTab, startBrowser, type Tab } from '../support/browser.ts';
import { goTo, signIn } from './sign-in.ts';

/** A port of its own: the page asks the address that it came from for it again. */
const LISTEN = { SERVICE_LISTEN: '127.0.0.1:18917' };

describeBrowser('the page where things are not as they should be', () => {
  let browser: Browser;
  let plane: RunningControlPlane;
  let tab: Tab;

  beforeAll(async () => {
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser.close();
  });

  beforeEach(async () => {
    plane = await RunningControlPlane.start(undefined, LISTEN);
    tab = await openTab(browser);
  });

  afterEach(async () => {
    const { faults } = tab;
    await tab[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
    expect(faults).toEqual([]);
  });

  async function tokenOf(access: string): Promise<string> {
    const { body } = await plane.call('POST', '/admin-tokens', { name: `${access}-1`, access: [access] });
    return String(body['token']);
  }

  it('keeps what it showed while nothing answers, says so, and goes on by itself', async () => {
    await plane.newCluster('prod-eu');
    await signIn(tab.page, plane.url, plane.token);
    await tab.page.getByRole('heading', { name: 'Waiting' }).waitFor();
    await goTo(tab.page, '/clusters', 'Clusters');
    await goTo(tab.page, '/', 'Fleet');
    await plane.stop();
    await tab.page.getByText('What you see may be old').waitFor();
    expect(await tab.page.getByRole('heading', { name: 'Waiting' }).isVisible()).toBe(true);
    // Where nothing was read yet, the state is in the place of the view.
    await tab.page.evaluate("location.hash = '/clusters?q=prod'");
    await tab.page.getByText('The control plane does not answer', { exact: true }).waitFor();
    expect(await axeViolations(tab.page)).toEqual([]);
    await plane.startAgain();
    await tab.page.getByRole('link', { name: 'prod-eu' }).waitFor({ timeout: 30_000 });
    await tab.page.getByText('What you see may be old').waitFor({ state: 'detached' });
  });

  it('shows at once what somebody else does, without being loaded again', async () => {
    await signIn(tab.page, plane.url, plane.token);
    await tab.page.getByText('There is no cluster yet.').waitFor();
    await tab.page.getByText('Live', { exact: true }).waitFor();
    const loads: string[] = [];
    tab.page.on('framenavigated', (frame) => loads.push(frame.url()));
    await plane.newCluster('prod-eu');
    await tab.page.getByRole('link', { name: '1 cluster', exact: true }).waitFor();
    expect(loads).toEqual([]);
  });

  it('looks again every 15 seconds where there is no stream, and says so', { timeout: 60_000 }, async () => {
    await tab.page.route('**/api/v1/changes*', async (route) => {
      await route.fulfill({ status: 429, contentType: 'application/json', body: '{"error":"rate_limited"}' });
    });
    await signIn(tab.page, plane.url, plane.token);
    await tab.page.getByText('Every 15 s', { exact: true }).waitFor();
    await tab.page.getByText('There is no cluster yet.').waitFor();
    await plane.newCluster('prod-eu');
    await tab.page.getByRole('link', { name: '1 cluster', exact: true }).waitFor({ timeout: 30_000 });
    await tab.page.unroute('**/api/v1/changes*');
    await tab.page.getByText('Live', { exact: true }).waitFor({ timeout: 30_000 });
    expect(await tab.page.getByText('Every 15 s').count()).toBe(0);
  });

  it('shows a viewer what needs more, and why it cannot be used', async () => {
    await plane.newCluster('prod-eu');
    await signIn(tab.page, plane.url, await tokenOf('viewer'), '#/clusters/prod-eu/credentials');
    const button = tab.page.getByRole('button', { name: 'Issue a token' });
    await button.waitFor();
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await button.focus();
    await tab.page.getByRole('tooltip').filter({ hasText: 'needs the scope clusters' }).first().waitFor();
    await button.click({ force: true });
    expect(await tab.page.getByRole('dialog').count()).toBe(0);
    expect(await axeViolations(tab.page)).toEqual([]);
    await goTo(tab.page, '/settings', 'Settings');
    await tab.page.getByText('not yours: makes clusters').waitFor();
  });

  it('says which scope is missing where even reading is not allowed', async () => {
    const { body } = await plane.call('POST', '/admin-tokens', {
      name: 'ci',
      access: ['deployer'],
      scopes: ['deploy'],
    });
    await signIn(tab.page, plane.url, String(body['token']));
    await tab.page.getByText('You may not see or do this').waitFor();
    expect(await tab.page.getByRole('alert').textContent()).toContain('read');
    await tab.page.getByRole('button', { name: 'Sign out' }).click();
    await tab.page.getByLabel('Admin token').waitFor();
  });

  it('asks to sign in again when the token is taken back, and comes back to where one was', async () => {
    await plane.newCluster('prod-eu');
    await signIn(tab.page, plane.url, await tokenOf('viewer'), '#/clusters/prod-eu/intents');
    await tab.page.getByText('Nothing was asked for yet.').waitFor();
    await plane.call('DELETE', '/admin-tokens/viewer-1');
    // By itself: the stream of changes ends with the token.
    await tab.page.getByRole('heading', { name: 'Sign in' }).waitFor({ timeout: 30_000 });
    await tab.page.getByRole('alert').filter({ hasText: 'token' }).waitFor();
    await tab.page.getByLabel('Admin token').fill(plane.token);
    await tab.page.keyboard.press('Enter');
    await tab.page.getByText('Nothing was asked for yet.').waitFor();
    expect(tab.page.url()).toBe(`${plane.url}/#/clusters/prod-eu/intents`);
  });

  it('says what there is not, and what an address that leads nowhere is', async () => {
    await signIn(tab.page, plane.url, plane.token, '#/clusters/nobody');
    await tab.page.getByText('There is no such thing').waitFor();
    await goTo(tab.page, '/%E0%A4%A/nowhere', 'There is no such page');
    await tab.page.getByRole('link', { name: 'Go to the fleet' }).click();
    await tab.page.getByRole('heading', { name: 'Fleet' }).waitFor();
    expect(tab.page.url()).toBe(`${plane.url}/#/`);
  });
});
