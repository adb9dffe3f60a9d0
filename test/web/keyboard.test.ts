import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeBrowser, openTab, startBrowser, type Tab } from '../support/browser.ts';
import { goTo, signIn } from './sign-in.ts';

describeBrowser('the page by the keyboard alone', () => {
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

  const focused = async () => await tab.page.evaluate<string>("document.activeElement?.textContent?.trim() ?? ''");

  /** Until what has the focus says that; so many steps at the most. */
  async function tabTo(text: string, most = 60): Promise<void> {
    for (let press = 0; press < most; press += 1) {
      await tab.page.keyboard.press('Tab');
      if ((await focused()) === text) return;
    }
    throw new Error(`${most} steps of the Tab key do not lead to ${text}`);
  }

  it('signs in, skips to the content, and reads the heading of each view that it comes to', async () => {
    await tab.page.goto(plane.url);
    await tab.page.getByLabel('Admin token').waitFor();
    await tabTo('Skip to the content', 2);
    await tab.page.getByLabel('Admin token').focus();
    await tab.page.keyboard.type(plane.token);
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { name: 'Fleet' }).waitFor();
    await tabTo('Clusters');
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { name: 'Clusters', level: 1 }).waitFor();
    await expect.poll(focused).toBe('Clusters');
    expect(await tab.page.title()).toBe('Clusters · service');
    await tab.page.getByRole('link', { name: 'prod-eu' }).waitFor();
    await tabTo('prod-eu');
    await tab.page.keyboard.press('Enter');
    await expect.poll(focused).toBe('prod-eu');
    await tabTo('Credentials');
  });

  it('disables a cluster once its name was typed, and gives the focus back to the button', async () => {
    await signIn(tab.page, plane.url, plane.token, '#/clusters/prod-eu/credentials');
    await tab.page.getByRole('button', { name: 'Disable' }).waitFor();
    await tabTo('Disable');
    await tab.page.keyboard.press('Enter');
    const dialog = tab.page.getByRole('dialog', { name: 'Disable: prod-eu' });
    await dialog.waitFor();
    await dialog.getByText('go on running').waitFor();
    // Nothing behind it can be reached.
    for (let press = 0; press < 12; press += 1) {
      await tab.page.keyboard.press('Tab');
      const isInside = await tab.page.evaluate<boolean>(
        "document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)",
      );
      expect(isInside).toBe(true);
    }
    await tab.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(focused).toBe('Disable');
    expect((await plane.call('GET', '/clusters/prod-eu')).body).not.toHaveProperty('disabledAt');
    await tab.page.keyboard.press('Enter');
    await dialog.getByLabel(/Type/).focus();
    await tab.page.keyboard.type('prod');
    await tab.page.keyboard.press('Enter');
    expect(await dialog.getByRole('button', { name: 'Disable' }).isDisabled()).toBe(true);
    await tab.page.keyboard.type('-eu');
    await tab.page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await tab.page.getByRole('status').filter({ hasText: 'Disabled prod-eu' }).waitFor();
    expect((await plane.call('GET', '/clusters/prod-eu')).body).toHaveProperty('disabledAt');
    await tab.page.getByRole('button', { name: 'Enable' }).waitFor();
  });

  it('leaves the focus to who has gone on while a view is loaded', async () => {
    const { page } = tab;
    const me = Promise.withResolvers<undefined>();
    await page.route('**/api/v1/me', async (route) => {
      await me.promise;
      await route.continue();
    });
    const view = Promise.withResolvers<undefined>();
    await page.route('**/assets/settings-*.js', async (route) => {
      await view.promise;
      await route.continue();
    });
    await signIn(page, plane.url, plane.token, '#/settings');
    const system = page.getByRole('radio', { name: 'system' });
    await system.focus();
    const isThere = async () => (await system.and(page.locator(':focus')).count()) === 1;
    // Who signed in is known.
    me.resolve(undefined);
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    expect(await isThere()).toBe(true);
    // The view is there.
    view.resolve(undefined);
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    expect(await isThere()).toBe(true);
    await page.keyboard.press('Shift+Tab');
    await tabTo('Clusters');
    await page.keyboard.press('Enter');
    await expect.poll(async () => [await page.title(), await focused()]).toEqual(['Clusters · service', 'Clusters']);
  });

  it('changes the theme, which stays', async () => {
    await signIn(tab.page, plane.url, plane.token, '#/settings');
    const ground = async () => await tab.page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const light = await ground();
    await tab.page.getByRole('radio', { name: 'system' }).focus();
    await tab.page.keyboard.press('ArrowRight');
    await tab.page.keyboard.press('ArrowRight');
    await expect.poll(ground).not.toBe(light);
    const dark = await ground();
    await tab.page.reload();
    await tab.page.getByRole('heading', { name: 'Settings' }).waitFor();
    expect(await ground()).toBe(dark);
  });

  it('shows the exact time of a relative one to who comes to it', async () => {
    await signIn(tab.page, plane.url, plane.token);
    await goTo(tab.page, '/settings', 'Settings');
    const time = tab.page.locator('time').first();
    await time.focus();
    const shown = await tab.page.evaluate<string>(
      "getComputedStyle(document.querySelector('time'), '::after').content",
    );
    expect(shown).toMatch(/\d{4}.*\d{2}:\d{2}:\d{2}/);
    expect(await time.getAttribute('datetime')).toMatch(/^\d{4}-\d{2}-\d{2}T.*Z$/);
  });
});
