import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerAgent } from '../control-plane/admin/running-agent.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { Home } from './home.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
const LIMIT_MS = 60_000;
const LIMITED = { timeout: LIMIT_MS };

let plane: RunningControlPlane;
let home: Home;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  home = new Home();
  await plane.newCluster('prod-eu', { connectivityMode: 'pull' });
  await plane.newCluster('quiet', { connectivityMode: 'gitops' });
  await registerAgent(plane, 'quiet', {});
  // So that a switch of its mode waits for it.
  await plane.execute(
    `UPDATE clusters SET last_contact_at = '2026-01-01T00:00:00.000Z', disconnected_at = '2026-01-02T00:00:00.000Z'
      WHERE slug = ?`,
    'quiet',
  );
  await home.run(['login', plane.url, '--token-file', home.file('token', plane.token), '--name', 'dev']);
});
afterAll(async () => {
  home[Symbol.dispose]();
  await plane[Symbol.asyncDispose]();
});

interface Talk {
  readonly child: ChildProcess;
  readonly heard: () => string;
  /** Waits until it has said this. */
  readonly until: (text: string) => Promise<void>;
  /** Everything that it said, and how it ended. */
  readonly end: Promise<readonly [code: number | null, said: string]>;
}

function talk(child: ChildProcess): Talk {
  let said = '';
  child.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const end = once(child, 'close').then(([code]) => [code as number | null, said] as const);
  const until = async (text: string): Promise<void> => {
    while (!said.includes(text)) {
      const more = child.stdout === null ? [] : [once(child.stdout, 'data')];
      await Promise.race([...more, end.then(() => Promise.reject(new Error(`it ended without ${text}: ${said}`)))]);
    }
  };
  return { child, heard: () => said, until, end };
}

/** In a pseudo-terminal, as a person runs it. */
function inTerminal(args: readonly string[], env: Record<string, string> = {}): Talk {
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
  return talk(
    spawn('script', ['-qec', command, '/dev/null'], {
      env: { ...process.env, NO_COLOR: '', TERM: 'xterm', ...home.env, ...env },
      stdio: 'pipe',
      timeout: LIMIT_MS,
    }),
  );
}

function inPipe(args: readonly string[], env: Record<string, string> = {}): Talk {
  const all = { ...process.env, ...home.env, ...env };
  return talk(spawn(process.execPath, [MAIN, ...args], { env: all, stdio: 'pipe', timeout: LIMIT_MS }));
}

describe.runIf(process.platform === 'linux')('servicectl in a terminal and in a pipe', () => {
  it('has colours in the one alone', LIMITED, async () => {
    const list = ['clusters', 'list'];
    const [shown, piped, plain, forced] = await Promise.all([
      inTerminal(list).end,
      inPipe(list).end,
      inTerminal(list, { NO_COLOR: '1' }).end,
      inPipe([...list, '--color', 'always']).end,
    ]);
    expect(shown[1]).toContain('\u001b[1mSLUG\u001b[0m');
    expect(piped[1]).toMatch(/^SLUG +STATUS/);
    expect(plain[1].replaceAll('\r', '')).toBe(piped[1]);
    expect(forced[1]).toContain('\u001b[33mPending\u001b[0m');
  });

  it('asks before it deletes, in the terminal alone', LIMITED, async () => {
    const line = ['contexts', 'delete', 'dev'];
    const asked = inTerminal(line);
    await asked.until('Go on? [y/N] ');
    asked.child.stdin?.write('n\r');
    expect(await asked.end).toEqual([1, expect.stringContaining('servicectl: nothing was done')]);
    const piped = inPipe(line);
    piped.child.stdin?.end('y\n');
    expect(await piped.end).toEqual([2, expect.stringContaining('If that is meant, add --yes\n')]);
  });

  it('takes a token that is typed, which is not shown', LIMITED, async () => {
    const login = inTerminal(['login', plane.url, '--name', 'typed']);
    await login.until('Admin token (it is not shown): ');
    login.child.stdin?.write(`${plane.token}\r`);
    const [code, said] = await login.end;
    expect([code, said]).toEqual([0, expect.stringContaining('typed is the current context')]);
    expect(said).not.toContain(plane.token);
    const piped = inPipe(['login', plane.url, '--name', 'piped', '--token-stdin']);
    piped.child.stdin?.end(plane.token);
    expect(await piped.end).toEqual([0, expect.stringContaining('piped is the current context\n')]);
  });

  it('shows what it waits for on one line, and lets the work go on after Ctrl-C', LIMITED, async () => {
    const waiting = inTerminal(['clusters', 'mode', 'quiet', 'pull', '--yes', '--watch']);
    await waiting.until('waiting for ');
    waiting.child.stdin?.write('\u0003');
    const [code, said] = await waiting.end;
    expect(said.split('\r\u001b[K')[1]).toMatch(/^\S+Z {2}requested: [^\n]*$/);
    expect([code, said]).toEqual([
      130,
      expect.stringMatching(
        /sw-\S+ goes on\. To see where it is: servicectl clusters mode-switches quiet sw-\S+\r?\n$/,
      ),
    ]);
    expect((await plane.call('GET', '/clusters/quiet')).body['modeSwitch']).toMatchObject({ to: 'pull' });
    const cancelled = inPipe(['clusters', 'cancel-mode-switch', 'quiet', '--wait', '--quiet']);
    expect(await cancelled.end).toEqual([
      0,
      expect.stringMatching(/^quiet: sw-\S+ is cancelled; gitops mode stays\n$/),
    ]);
  });
});
