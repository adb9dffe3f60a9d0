import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { Home } from './home.ts';

const execute = promisify(execFile);
const LIMITED = { timeout: 60_000 };
const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

let plane: RunningControlPlane;
let home: Home;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  home = new Home();
  await plane.newCluster('prod-eu');
  await plane.newCluster('prod-us');
  await home.run(['login', plane.url, '--token-file', home.file('token', plane.token), '--name', 'dev']);
  writeFileSync(join(home.folder, 'servicectl-program'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, {
    mode: 0o755,
  });
});
afterAll(async () => {
  home[Symbol.dispose]();
  await plane[Symbol.asyncDispose]();
});

async function scriptFor(shell: string): Promise<string> {
  const { code, out } = await home.run(['completion', shell]);
  expect(code).toBe(0);
  return home.file(`completion.${shell}`, out);
}

/** What a real bash offers for each of the lines, whose last word is being typed. */
async function offered(lines: readonly string[]): Promise<Record<string, string>> {
  const script = await scriptFor('bash');
  const asked = lines.map((line) => {
    const words = line.split(' ').map((word) => `'${word}'`);
    return `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; COMPREPLY=(); _servicectl; echo "\${COMPREPLY[*]}"`;
  });
  const text = `source '${script}'\nservicectl() { '${home.folder}/servicectl-program' "$@"; }\n${asked.join('\n')}\n`;
  const env = { ...home.env, PATH: process.env['PATH'] };
  const { stdout } = await execute('bash', ['--norc', '-c', text], { env, timeout: LIMITED.timeout });
  const answers = stdout.split('\n');
  return Object.fromEntries(lines.map((line, index) => [line, answers[index] ?? '']));
}

describe('the completion of bash', () => {
  it('offers commands, options and what these take', LIMITED, async () => {
    const lines = {
      'servicectl cont': 'contexts',
      'servicectl contexts ': 'list use show rename delete',
      'servicectl --context dev signing-keys ': 'list rotate revoke',
      'servicectl clusters list -o ': 'table wide json yaml name',
      'servicectl clusters list --mode = p': 'pull push',
      'servicectl clusters ge': 'get',
      'servicectl clusters get --ser': '--server',
      'servicectl clusters mode prod-eu ': 'pull push gitops',
      'servicectl clusters mode prod-eu push ': '',
      'servicectl completion z': 'zsh',
      'servicectl clusters list --search ': '',
    };
    expect(await offered(Object.keys(lines))).toEqual(lines);
  });

  it('looks up names of clusters and contexts, and offers none where nobody answers', LIMITED, async () => {
    const lines = {
      'servicectl clusters get prod-': 'prod-eu prod-us',
      'servicectl git log --cluster prod-u': 'prod-us',
      'servicectl contexts use ': 'dev',
      'servicectl --server http://127.0.0.1:9 clusters get p': '',
    };
    expect(await offered(Object.keys(lines))).toEqual(lines);
  });

  it('is never told an argument of an unknown kind', async () => {
    expect(await home.run(['__complete', 'passwords'])).toEqual({ code: 0, out: '', err: '' });
    expect((await home.run(['--help'])).out).not.toContain('__complete');
  });
});

it('completes every command there is, by each of its names', async () => {
  const [bash, fish] = await Promise.all(
    ['bash', 'fish'].map(async (shell) => (await home.run(['completion', shell])).out),
  );
  for (const path of ['clusters show', 'clusters get', 'channel webhooks add', 'proposals approve', 'doctor']) {
    expect(bash).toContain(`'${path}'`);
    expect(fish).toContain(`'${path}'`);
  }
  expect((await home.run(['completion', 'zsh'])).out).toMatch(/^#compdef servicectl\n/);
});

it.each(['bash', 'zsh', 'fish'])('is a script that %s can read, where that is installed', async (shell) => {
  const program = [`/bin/${shell}`, `/usr/bin/${shell}`, `/usr/local/bin/${shell}`].find((path) => existsSync(path));
  const script = await scriptFor(shell);
  if (program !== undefined) await execute(program, ['-n', script]);
  expect(program !== undefined || shell !== 'bash').toBe(true);
});
