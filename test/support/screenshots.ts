import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

export const WIDTHS = [1440, 820, 390] as const;
export const THEMES = ['light', 'dark'] as const;

/** SERVICE_SCREENSHOTS, else a folder among the temporary ones. */
export const SCREENSHOTS = process.env['SERVICE_SCREENSHOTS'] ?? join(tmpdir(), 'service-screenshots');

/**
 * Pictures of what the tab shows now, `<name>-<width>-<theme>.png`, at three widths and in both themes; then the tab is as
 * it was. Answers their files.
 */
export async function takeScreenshots(page: Page, name: string, folder = SCREENSHOTS): Promise<readonly string[]> {
  mkdirSync(folder, { recursive: true });
  const before = page.viewportSize() ?? { width: 1280, height: 800 };
  const files: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: Math.max(before.height, 800) });
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const path = join(folder, `${name}-${width}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: true, animations: 'disabled' });
      files.push(path);
    }
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  await page.setViewportSize(before);
  return files;
}
