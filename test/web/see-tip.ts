import type { Locator } from 'playwright-core';
import { expect } from 'vitest';

/** Points at a button until its tip says why it cannot be used: while the view is still loaded it may move from under the pointer. */
export async function seeTip(button: Locator, text: string): Promise<void> {
  const tip = button.locator('xpath=..').getByRole('tooltip').filter({ hasText: text });
  const pointAtIt = async (): Promise<boolean> => {
    await button.hover();
    return await tip.isVisible();
  };
  await expect.poll(pointAtIt).toBe(true);
}
