import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

/**
 * What axe finds wrong with what the tab shows now, in both themes; nothing, where it should be. It is put in by the debugger,
 * past the page's policy, which is not weakened for it.
 */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    // Until it is drawn so.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    const { violations } = await page.evaluate<AxeResult>('axe.run(document)');
    for (const { id, nodes } of violations) {
      for (const { html, failureSummary } of nodes) {
        found.push(`${colorScheme}: ${id}: ${html.slice(0, 200)} ${failureSummary.slice(0, 300)}`);
      }
    }
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  return found;
}
