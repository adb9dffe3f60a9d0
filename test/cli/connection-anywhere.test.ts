import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';

let plane: RunningControlPlane;
let folder: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.newCluster('prod-eu');
  folder = mkdtempSync(join(tmpdir(), 'servicectl-'));
  writeFileSync(join(folder, 'token'), plane.token);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await plane[Symbol.asyncDispose]();
});

async function run(line: string): Promise<string> {
  let said = '';
  const say = (text: string): void => void (said += text);
  const args = line
    .replace('SERVER', `--server ${plane.url}`)
    .replace('TOKEN', `--token-file ${join(folder, 'token')}`);
  const code = await servicectl(args.split(' '), { env: {}, out: say, err: say });
  return `${code} ${said}`;
}

describe('where the control plane is', () => {
  it.each([
    'clusters list -o name SERVER TOKEN',
    'SERVER TOKEN clusters list -o name',
    'SERVER clusters list -o name TOKEN',
    'clusters SERVER TOKEN list -o name',
    'TOKEN clusters SERVER list --output name',
  ])('is taken before and behind a command: %s', async (line) => {
    expect(await run(line)).toBe('0 prod-eu\n');
  });

  it('is what stands nearest to the arguments, where it stands twice', async () => {
    expect(await run('--server http://127.0.0.1:9 TOKEN clusters list -o name SERVER')).toBe('0 prod-eu\n');
  });

  it('is refused by a command that would pass it over, before its name and behind it', async () => {
    expect(await run('SERVER namespaces add shop')).toBe(
      "2 error: option '--server <url>' is not for add, which calls no control plane\nSee: servicectl namespaces add --help\n",
    );
    expect(await run('namespaces add shop SERVER')).toMatch(/^2 error: unknown option '--server'\n/);
  });

  it('stands in the help of the program, of a group and of a command', async () => {
    for (const line of ['--help', 'clusters --help', 'channel webhooks --help', 'clusters list --help']) {
      expect(await run(line)).toMatch(/--server <url> [^]*--token-file <file> /);
    }
    expect(await run('namespaces --help')).not.toContain('--server');
  });
});
