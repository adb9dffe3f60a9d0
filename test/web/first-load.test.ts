import { gzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeBrowser, openTab, startBrowser } from '../support/browser.ts';

const MAX_SCRIPT_BYTES = 60_000;
const MAX_INTERACTIVE_MS = 1000;
const LOADS = 5;
const ROUNDS = 4;

describeBrowser('the first load of the page', () => {
  let browser: Browser;
  let plane: RunningControlPlane;
  beforeAll(async () => {
    browser = await startBrowser();
    plane = await RunningControlPlane.start();
  });
  afterAll(async () => {
    await browser.close();
    await plane[Symbol.asyncDispose]();
  });

  it('takes less than 60 KB of compressed script until the fleet is there, all of it from here', async () => {
    await using tab = await openTab(browser);
    const bodies: Promise<Buffer>[] = [];
    const elsewhere: string[] = [];
    tab.page.on('response', (response) => {
      const url = response.url();
      if (!url.startsWith(plane.url) && !url.startsWith('data:')) elsewhere.push(url);
      if (url.endsWith('.js')) bodies.push(response.body());
    });
    await tab.page.addInitScript(`sessionStorage.setItem('service-admin-token', '${plane.token}')`);
    await tab.page.goto(plane.url);
    await tab.page.getByText('There is no cluster yet.').waitFor();
    const sizes = (await Promise.all(bodies)).map((body) => gzipSync(body).length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect(sizes.length).toBeGreaterThan(1);
    process.stdout.write(`first load: ${total} bytes of compressed script in ${sizes.length} files\n`);
    expect(total).toBeLessThan(MAX_SCRIPT_BYTES);
    expect(elsewhere).toEqual([]);
    expect(tab.faults).toEqual([]);
  });

  it('is sent compressed', async () => {
    const page = await (await fetch(plane.url)).text();
    const script = /src="([^"]+\.js)"/.exec(page)?.[1] ?? '';
    const answer = await fetch(new URL(script, plane.url), { headers: { 'accept-encoding': 'gzip' } });
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(answer.headers.get('cache-control')).toContain('immutable');
  });

  it(
    'shows its first view within a second on this machine, by the median of five loads',
    { timeout: 120_000 },
    async () => {
      const medians: number[] = [];
      // Other tests run beside this one and can only make it slower: one quiet round is enough.
      while (medians.length < ROUNDS && !medians.some((median) => median < MAX_INTERACTIVE_MS)) {
        const times: number[] = [];
        for (let count = 0; count < LOADS; count += 1) times.push(await timeToContent());
        const median = times.toSorted((a, b) => a - b)[Math.floor(LOADS / 2)] ?? Infinity;
        process.stdout.write(`the fleet is there after ${times.join(', ')} ms, median ${median}\n`);
        medians.push(median);
      }
      expect(Math.min(...medians)).toBeLessThan(MAX_INTERACTIVE_MS);
    },
  );

  /** Milliseconds from the address to the first view's content, in a tab that was never here. */
  async function timeToContent(): Promise<number> {
    await using tab = await openTab(browser);
    await tab.page.addInitScript(`sessionStorage.setItem('service-admin-token', '${plane.token}')`);
    await tab.page.goto(plane.url);
    await tab.page.getByText('There is no cluster yet.').waitFor();
    // It is marked once it is painted, which may be after it can be found.
    const mark = "performance.getEntriesByName('content-shown')[0]";
    await tab.page.waitForFunction(mark);
    return await tab.page.evaluate<number>(`Math.round(${mark}.startTime)`);
  }
});
