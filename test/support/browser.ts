import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';
import { describe } from 'vitest';

/** Debian's `chromium`, or another Chromium that SERVICE_TEST_BROWSER_PATH names. */
const PROGRAM = process.env['SERVICE_TEST_BROWSER_PATH'] ?? '/usr/bin/chromium';

/**
 * A `describe` for a real browser. Where there is none it is skipped and its name says why; with
 * SERVICE_TEST_BROWSER=required its tests fail instead.
 */
export function describeBrowser(name: string, body: () => void): void {
  const skipped = !existsSync(PROGRAM) && process.env['SERVICE_TEST_BROWSER'] !== 'required';
  const why = skipped ? ` (skipped: no ${PROGRAM}; apt-get install chromium, or set SERVICE_TEST_BROWSER_PATH)` : '';
  describe.skipIf(skipped)(`${name}${why}`, () => {
    body();
  });
}

export async function startBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox'] });
}

/** A tab of its own session, with whatever went wrong in it. */
export interface Tab extends AsyncDisposable {
  readonly page: Page;
  /** Errors that the page's scripts threw, and what its policy stopped. */
  readonly faults: readonly string[];
}

export async function openTab(browser: Browser, width = 1280): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width, height: 800 } });
  const page = await context.newPage();
  // Ends a test that waits for what never comes; two loaded cores may take a while.
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) faults.push(message.text());
  });
  return { page, faults, [Symbol.asyncDispose]: async () => await context.close() };
}
