import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { axeViolations } from '../../support/axe.ts';
import { takeScreenshots } from '../../support/screenshots.ts';

/** What axe finds wrong with what the tab shows now, in both themes: nothing. Then pictures of it. */
export async function checkStop(page: Page, name: string): Promise<void> {
  expect({ [name]: await axeViolations(page) }).toEqual({ [name]: [] });
  await page.evaluate('scrollTo(0, 0)');
  await takeScreenshots(page, name);
}
