import { build } from 'vite';

/** The page as its sources are now: the control plane serves what was built of them. */
export async function setup(): Promise<void> {
  await build({ configFile: 'vite.config.ts' });
}
