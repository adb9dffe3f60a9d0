import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

it.for([
  ['of a command', ['operator', 'manifest']],
  ['of help', ['--help']],
] as const)(
  'ends without a word when nobody reads the output %s, as a program does that a signal ends',
  async ([, args]) => {
    const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'], timeout: 30_000 });
    child.stdout.destroy();
    let err = '';
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    expect([code, err]).toEqual([141, '']);
  },
);

it('goes on when only its errors are read by nobody', async () => {
  const child = spawn(process.execPath, [MAIN, 'clusters', 'get'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 30_000,
  });
  child.stderr.destroy();
  child.stdout.resume();
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(2);
});
