import { gzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeBrowser, openTab, startBrowser } from '../support/browser.ts';

const MAX_SCRIPT_BYTES = 60_000;
const MAX_INTERACTIVE_MS = 1000;

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

  it('can be used within a second on this machine', async () => {
    await using tab = await openTab(browser);
    await tab.page.goto(plane.url);
    await tab.page.getByLabel('Admin token').fill('x');
    // The second time, as the program of the browser itself is warm.
    await tab.page.goto('about:blank');
    await tab.page.goto(plane.url);
    await tab.page.getByLabel('Admin token').waitFor();
    const interactive = await tab.page.evaluate<number>(`performance.getEntriesByType('navigation')[0].domInteractive`);
    const drawn = await tab.page.evaluate<number>(
      `Math.max(...performance.getEntriesByType('paint').map(({ startTime }) => startTime))`,
    );
    expect(Math.max(interactive, drawn)).toBeLessThan(MAX_INTERACTIVE_MS);
  });
});
