import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeBrowser, openTab, startBrowser } from '../support/browser.ts';

/** Compressed, of all scripts that the first view needs. */
const SCRIPT_BYTES = 200_000;
const STYLE_BYTES = 50_000;
/** Until the first view shows its content: the page, its scripts and styles, and calls of the API. */
const REQUESTS = 40;
/** On this machine, from the address to the content. */
const INTERACTIVE_MS = 1000;
const LOADS = 5;
const ROUNDS = 4;

interface Load {
  readonly ms: number;
  readonly scripts: number;
  readonly styles: number;
  readonly requests: number;
  readonly elsewhere: readonly string[];
}

const MEASURE = `new Promise((resolve) => {
  const read = () => {
    const [mark] = performance.getEntriesByName('content-shown');
    if (mark === undefined) return requestAnimationFrame(read);
    const resources = performance.getEntriesByType('resource').filter(({ startTime }) => startTime <= mark.startTime);
    const bytes = (end) => resources.filter(({ name }) => name.endsWith(end)).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
    resolve({
      ms: Math.round(mark.startTime),
      scripts: bytes('.js'),
      styles: bytes('.css'),
      requests: resources.length + 1,
      elsewhere: resources.map(({ name }) => name).filter((name) => !name.startsWith(location.origin)),
    });
  };
  read();
})`;

describeBrowser('the budgets of the page', () => {
  let browser: Browser;
  let plane: RunningControlPlane;

  beforeAll(async () => {
    browser = await startBrowser();
    plane = await RunningControlPlane.start();
    for (const slug of ['prod-eu', 'prod-us', 'staging']) await plane.newCluster(slug);
  });

  afterAll(async () => {
    await browser.close();
    await plane[Symbol.asyncDispose]();
  });

  /** A tab that was never here: nothing is in its cache. */
  async function load(): Promise<Load> {
    await using tab = await openTab(browser);
    await tab.page.addInitScript(`sessionStorage.setItem('service-admin-token', ${JSON.stringify(plane.token)})`);
    await tab.page.goto(`${plane.url}/#/`);
    return await tab.page.evaluate<Load>(MEASURE);
  }

  it('loads less than 200 KB of compressed script, and nothing from elsewhere', async () => {
    const { scripts, styles, requests, elsewhere } = await load();
    // Zero would mean that nothing was measured.
    expect(scripts).toBeGreaterThan(1000);
    expect(scripts).toBeLessThan(SCRIPT_BYTES);
    expect(styles).toBeLessThan(STYLE_BYTES);
    expect(requests).toBeLessThan(REQUESTS);
    expect(elsewhere).toEqual([]);
    process.stdout.write(`first load: ${scripts} bytes of script, ${styles} of styles, ${requests} requests\n`);
  });

  it('shows its first view within a second, by the median of five loads', { timeout: 120_000 }, async () => {
    const medians: number[] = [];
    // Other tests run beside this one and can only make it slower: one quiet round is enough.
    while (medians.length < ROUNDS && !medians.some((median) => median < INTERACTIVE_MS)) {
      const times: number[] = [];
      for (let count = 0; count < LOADS; count += 1) times.push((await load()).ms);
      const median = times.toSorted((a, b) => a - b)[Math.floor(LOADS / 2)] ?? Infinity;
      process.stdout.write(`content after ${times.join(', ')} ms, median ${median}\n`);
      medians.push(median);
    }
    expect(Math.min(...medians)).toBeLessThan(INTERACTIVE_MS);
  });
});
