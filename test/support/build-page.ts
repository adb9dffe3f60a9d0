import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';

const BUILT = 'dist-web/index.html';

/** The page as its sources are now: the control plane serves what was built of them. What is as new is left as it is. */
export async function setup(): Promise<void> {
  const files = readdirSync('src/web', { recursive: true, encoding: 'utf8' }).map((name) => join('src/web', name));
  const builtAt = statSync(BUILT, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if ([...files, 'vite.config.ts'].every((file) => statSync(file).mtimeMs <= builtAt)) return;
  await build({ configFile: 'vite.config.ts' });
}
