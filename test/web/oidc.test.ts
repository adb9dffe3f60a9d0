import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeBrowser, openTab, startBrowser, type Tab } from '../support/browser.ts';
import { OidcProvider } from '../support/oidc-provider.ts';

const PEOPLE = {
  rita: { email: 'rita@example.com', email_verified: true },
  vera: { email: 'vera@example.com', email_verified: true },
  nobody: { email: 'nobody@example.com', email_verified: true },
};

describeBrowser('signing in to the page at an identity provider', () => {
  let browser: Browser;
  let provider: OidcProvider;
  let plane: RunningControlPlane;
  let tab: Tab;

  beforeAll(async () => {
    browser = await startBrowser();
    // A native client's, so it may have any port.
    provider = await OidcProvider.start(PEOPLE, ['http://127.0.0.1/']);
    plane = await RunningControlPlane.start(undefined, provider.env);
    await plane.newCluster('prod-eu');
    await plane.call('POST', '/members', { name: 'rita', access: ['viewer'], email: 'rita@example.com' });
  });

  afterAll(async () => {
    await browser.close();
    await plane[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    tab = await openTab(browser);
    return async () => {
      const { faults } = tab;
      await tab[Symbol.asyncDispose]();
      expect(faults).toEqual([]);
    };
  });

  async function signInAs(login: string, address = ''): Promise<void> {
    await tab.page.goto(`${plane.url}/${address}`);
    await tab.page.getByRole('button', { name: /Sign in at/ }).click();
    await tab.page.locator('input[name=login]').fill(login);
    await tab.page.locator('input[name=password]').fill('any');
    await tab.page.locator('[type=submit]').click();
    // What the client may do.
    await tab.page.locator('[type=submit]').click();
  }

  it('comes back to where one was, as the member with that address, with nothing left in the address', async () => {
    await signInAs('rita', '#/clusters/prod-eu/credentials');
    await tab.page.getByRole('heading', { name: 'What can be done' }).waitFor();
    expect(tab.page.url()).toBe(`${plane.url}/#/clusters/prod-eu/credentials`);
    await tab.page.getByRole('link', { name: 'rita' }).waitFor();
    await tab.page.getByRole('button', { name: 'Sign out' }).click();
    await tab.page.getByLabel('Admin token').waitFor();
  });

  it('lets whom two organizations added choose one, and shows nothing before', async () => {
    const vera = { name: 'vera', access: ['viewer'], email: 'vera@example.com' };
    await plane.call('POST', '/members', vera);
    await plane.call('POST', '/members', vera, { token: plane.addOrganization('other') });
    await signInAs('vera');
    await tab.page.getByRole('heading', { name: 'Choose an organization' }).waitFor();
    await tab.page.getByRole('button', { name: 'other' }).click();
    await tab.page.getByRole('link', { name: 'vera' }).waitFor();
    expect(await tab.page.getByLabel('Organization').inputValue()).toBe('other');
  });

  it('tells who is no member so, and lets him sign in as somebody else', async () => {
    await signInAs('nobody');
    const alert = tab.page.getByRole('alert');
    await alert.filter({ hasText: 'nobody@example.com' }).waitFor();
    await tab.page.getByRole('button', { name: 'Sign in as somebody else' }).click();
    await tab.page.getByLabel('Admin token').waitFor();
    expect(await tab.page.evaluate("sessionStorage.getItem('service-admin-token')")).toBeNull();
  });

  it('takes no answer to a sign-in that this tab did not begin', async () => {
    await tab.page.goto(`${plane.url}/?code=stolen&state=made-up`);
    await tab.page.getByRole('alert').filter({ hasText: 'did not begin' }).waitFor();
    expect(tab.page.url()).toBe(`${plane.url}/`);
    expect(await tab.page.evaluate("sessionStorage.getItem('service-admin-token')")).toBeNull();
  });

  it('may call the provider and nobody else', async () => {
    const policy = (await fetch(plane.url)).headers.get('content-security-policy');
    expect(policy).toContain(`connect-src 'self' ${provider.issuer}`);
    expect(policy).not.toContain('unsafe');
  });

  it('says that the provider does not answer, and goes on taking tokens', async () => {
    await using another = await OidcProvider.start({});
    await using alone = await RunningControlPlane.start(undefined, another.env);
    await another.down();
    await tab.page.goto(alone.url);
    await tab.page.locator('.note').waitFor();
    expect(await tab.page.getByRole('button', { name: /Sign in at/ }).count()).toBe(0);
    await tab.page.getByLabel('Admin token').fill(alone.token);
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { name: 'Fleet' }).waitFor();
    await another.up();
  });
});
