import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { takeScreenshots } from '../../support/screenshots.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** What axe finds wrong with what the tab shows now, in both themes: nothing. Then pictures of it. */
export async function checkStop(page: Page, name: string): Promise<void> {
  await page.evaluate(AXE);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    // Until it is drawn so.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    const { violations } = await page.evaluate<AxeResult>('axe.run(document)');
    const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
    expect(found, `${name}, ${colorScheme}`).toEqual([]);
  }
  await page.evaluate('scrollTo(0, 0)');
  await takeScreenshots(page, name);
}

export async function signIn(page: Page, url: string, token: string, address = ''): Promise<void> {
  await page.goto(`${url}/${address}`);
  await page.getByLabel('Admin token').fill(token);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor({ state: 'detached' });
}
