import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { PODINFO, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeBrowser, openTab, startBrowser, type Tab } from '../support/browser.ts';
import { goTo, signIn } from './sign-in.ts';

const INSTALL_AT = '#/catalog/podinfo/install?cluster=prod-eu';

/** A letter and the wish to leave in one turn of the browser, in which it paints nothing; whether it would ask. */
const TYPE_AND_LEAVE = `(async () => {
  const box = document.activeElement;
  box.value = 'p';
  box.dispatchEvent(new Event('input', { bubbles: true }));
  for (let turn = 0; turn < 10; turn += 1) await undefined;
  const leaving = new Event('beforeunload', { cancelable: true });
  dispatchEvent(leaving);
  return leaving.defaultPrevented;
})()`;

describeBrowser('what comes between in the page', () => {
  let browser: Browser;
  let plane: RunningControlPlane;
  let tab: Tab;

  beforeAll(async () => {
    browser = await startBrowser();
    plane = await RunningControlPlane.start();
    await plane.call('PUT', '/catalog/podinfo', PODINFO);
    await plane.newCluster('prod-eu', { connectivityMode: 'pull' });
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

  it('is not called live while nothing answers, and is at once when something does', async () => {
    const { page } = tab;
    await signIn(page, plane.url, plane.token);
    const mark = page.locator('.live');
    await expect.poll(async () => await mark.textContent(), { timeout: 10_000 }).toBe('Live');
    await page.context().setOffline(true);
    await page.evaluate("location.hash = '#/audit'");
    await page.locator('.offline-banner', { hasText: 'does not answer' }).waitFor();
    await expect.poll(async () => await mark.textContent(), { timeout: 2000 }).not.toBe('Live');
    await page.context().setOffline(false);
    await expect.poll(async () => await mark.textContent(), { timeout: 8000 }).toBe('Live');
  });

  it('says that nothing answers where a view is not loaded yet, and shows it once something does', async () => {
    const { page } = tab;
    const file = '**/assets/audit-*.js';
    let tries = 0;
    await page.route(file, async (route) => {
      tries += 1;
      await route.abort();
    });
    await signIn(page, plane.url, plane.token);
    await page.locator('.live', { hasText: 'Live' }).waitFor();
    await page.context().setOffline(true);
    await page.evaluate("location.hash = '#/audit'");
    const nothingAnswers = page.locator('.offline-banner', { hasText: 'does not answer' });
    await nothingAnswers.waitFor();
    // Not again and again while nothing answers.
    expect(tries).toBeLessThan(5);
    await page.unroute(file);
    await page.context().setOffline(false);
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    await expect.poll(async () => await nothingAnswers.count()).toBe(0);
  });

  it('keeps what was typed over a reload, the way back and the end of the session, and nothing once it is asked for', async () => {
    const { page } = tab;
    await signIn(page, plane.url, plane.token, INSTALL_AT);
    await page.getByLabel('Reason').fill('the sale begins');
    await page.getByLabel('Name', { exact: true }).fill('sale');
    await page.getByLabel('Chart version').fill('6.5.0');
    await page.getByText('Secret values', { exact: true }).click();
    await page.getByLabel('Secret values as YAML').fill('password: hunter2');
    page.on('dialog', (dialog) => void dialog.accept());
    const asked = page.waitForEvent('dialog');
    await page.reload();
    expect((await asked).type()).toBe('beforeunload');
    const reason = page.getByLabel('Reason');
    await expect.poll(async () => await reason.inputValue()).toBe('the sale begins');
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('hunter2');

    await goTo(page, '#/audit', 'Audit');
    await page.goBack();
    await expect.poll(async () => await reason.inputValue()).toBe('the sale begins');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('sale');

    // Not what the page reads by itself: that would end the session before the button is pressed.
    await page.route('**/intents', async (route) => {
      await route.fulfill({ status: 401, json: { error: 'expired_token', message: 'it has expired', requestId: 'r' } });
    });
    await button('Check').click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.unroute('**/intents');
    await page.getByLabel('Admin token').fill(plane.token);
    await button('Sign in').click();
    await expect.poll(async () => await reason.inputValue()).toBe('the sale begins');

    await button('Check').click();
    await page.getByText('It would be accepted.').waitFor();
    await button('Install').click();
    await page.getByRole('heading', { name: 'install shop/sale' }).waitFor();
    await goTo(page, INSTALL_AT, 'Install podinfo');
    expect(await reason.inputValue()).toBe('');
  });

  it('asks from the first letter of a secret on, before anything is painted', async () => {
    const { page } = tab;
    await signIn(page, plane.url, plane.token, INSTALL_AT);
    await page.getByText('Secret values', { exact: true }).click();
    await page.getByLabel('Secret values as YAML').focus();
    expect(await page.evaluate(TYPE_AND_LEAVE)).toBe(true);
  });

  it('takes nobody away from where he or she has gone meanwhile', async () => {
    const { page } = tab;
    await signIn(page, plane.url, plane.token, INSTALL_AT);
    await page.getByLabel('Name', { exact: true }).fill('late');
    await page.getByLabel('Chart version').fill('6.5.0');
    await button('Check').click();
    await page.getByText('It would be accepted.').waitFor();
    const held = Promise.withResolvers<undefined>();
    await page.route('**/intents', async (route) => {
      await held.promise;
      await route.continue();
    });
    await button('Install').click();
    await goTo(page, '#/audit', 'Audit');
    held.resolve(undefined);
    await page.getByText(/Install: it was asked for as int-/).waitFor();
    expect(new URL(page.url()).hash).toBe('#/audit');
  });

  it('tells times by the clock of the control plane, however wrong that of the browser is', async () => {
    const { page } = tab;
    await page.addInitScript('const now = Date.now; Date.now = () => now() + 3 * 3600_000;');
    await signIn(page, plane.url, plane.token, '#/audit');
    const times = page.locator('main time.when');
    await times.first().waitFor();
    const texts = await times.allTextContents();
    expect(texts.filter((text) => /hour/.test(text))).toEqual([]);
  });
});
