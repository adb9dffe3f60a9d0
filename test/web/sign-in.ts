import type { Page } from 'playwright-core';

/** Comes in by a token, at an address of the page. */
export async function signIn(page: Page, url: string, token: string, address = ''): Promise<void> {
  await page.goto(`${url}/${address}`);
  await page.getByLabel('Admin token').fill(token);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor({ state: 'detached' });
}

/** Goes to another address in the same tab, and waits for its heading. */
export async function goTo(page: Page, address: string, heading: string | RegExp): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
  await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
}
