import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeBrowser, openTab, startBrowser, type Tab } from '../support/browser.ts';
import { goTo, signIn } from './sign-in.ts';

describeBrowser('what an admin changes in the page', () => {
  let browser: Browser;
  let plane: RunningControlPlane;
  let tab: Tab;

  beforeAll(async () => {
    browser = await startBrowser();
    plane = await RunningControlPlane.start();
    await plane.newCluster('prod-eu');
  });

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

  const button = (name: string) => tab.page.getByRole('button', { name, exact: true });

  it('writes nothing over that somebody else changed meanwhile, and says so', async () => {
    await signIn(tab.page, plane.url, plane.token, '#/clusters/prod-eu');
    await button('Change').click();
    await tab.page.getByLabel('Labels').fill('env=prod');
    await plane.call('PATCH', '/clusters/prod-eu', { allowedNamespaces: ['shop', 'web'] });
    await button('Save').click();
    await tab.page
      .getByRole('dialog')
      .getByRole('alert')
      .filter({ hasText: /changed|read/ })
      .waitFor();
    expect((await plane.call('GET', '/clusters/prod-eu')).body).toMatchObject({
      labels: {},
      allowedNamespaces: ['shop', 'web'],
    });
    // Opened again, it has what there is now.
    await button('Cancel').click();
    await button('Change').click();
    expect(await tab.page.getByLabel('Namespaces that may be installed into').inputValue()).toBe('shop, web');
    await tab.page.getByLabel('Labels').fill('env=prod');
    await button('Save').click();
    await tab.page.getByRole('dialog').waitFor({ state: 'detached' });
    await tab.page.getByRole('link', { name: 'env=prod' }).waitFor();
  });

  it('adds a member, and makes a token of the member that is shown once and comes in', async () => {
    await signIn(tab.page, plane.url, plane.token, '#/members');
    await button('Add a member').click();
    await tab.page.getByLabel('Name', { exact: true }).fill('Rita!');
    await button('Add').click();
    await tab.page.getByRole('dialog').getByRole('alert').filter({ hasText: 'name' }).waitFor();
    await tab.page.getByLabel('Name', { exact: true }).fill('rita');
    await tab.page.getByLabel('approver').check();
    await button('Add').click();
    await tab.page.getByRole('cell', { name: 'approver, viewer' }).waitFor();
    await goTo(tab.page, '/tokens', 'Tokens');
    await button('New token').click();
    await tab.page.getByLabel('Name', { exact: true }).fill('rita-laptop');
    await tab.page.getByLabel('Of', { exact: true }).selectOption('rita');
    await button('Make the token').click();
    const token = (await tab.page.locator('.once code').textContent()) ?? '';
    await button('I have it').click();
    await tab.page.getByRole('cell', { name: 'rita-laptop', exact: true }).waitFor();
    expect(await tab.page.content()).not.toContain(token);
    expect((await plane.call('GET', '/me', undefined, { token })).body).toMatchObject({
      name: 'rita',
      member: true,
      scopes: expect.arrayContaining(['read', 'approve']),
    });
    await button('Sign out').click();
    await signIn(tab.page, plane.url, token, '#/settings');
    await tab.page.getByText('a token of a member').waitFor();
  });

  it('makes a cluster, shows its token once, and leads to its install command', async () => {
    await signIn(tab.page, plane.url, plane.token, '#/clusters');
    await button('New cluster').click();
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByLabel('Slug').fill('edge-1');
    await dialog.getByLabel('Labels').fill('env=edge');
    await button('Make the cluster').click();
    await button('I have it').click();
    await tab.page.getByText('No operator has registered yet.').waitFor();
    await button('Make the commands').click();
    await tab.page.getByRole('region', { name: 'Command 4' }).waitFor();
    expect((await plane.call('GET', '/clusters/edge-1')).body).toMatchObject({ labels: { env: 'edge' } });
  });
});
