import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerAgent, type RunningAgent } from '../control-plane/admin/running-agent.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Home } from './home.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
const ESCAPE = '\u001b';
const LIMIT_MS = 90_000;
const LIMITED = { timeout: LIMIT_MS };

let plane: RunningControlPlane;
let agent: RunningAgent;
let home: Home;

/** One that comes back at the same address after a restart. */
beforeAll(async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  plane = await RunningControlPlane.start(systemClock, { SERVICE_LISTEN: `127.0.0.1:${port}` });
  home = new Home();
  await plane.putPodinfo();
  await plane.newCluster('prod-eu', { connectivityMode: 'pull' });
  agent = await registerAgent(plane, 'prod-eu');
  await home.run(['login', plane.url, '--token-file', home.file('token', plane.token), '--name', 'dev']);
});
afterAll(async () => {
  home[Symbol.dispose]();
  await plane[Symbol.asyncDispose]();
});

/** One that goes on until it is ended. */
class Following {
  readonly #child: ChildProcess;
  readonly #end: Promise<number | null>;
  said = '';

  constructor(command: string, args: readonly string[]) {
    const env = { ...process.env, NO_COLOR: '', TERM: 'xterm', ...home.env };
    this.#child = spawn(command, args, { env, stdio: 'pipe', timeout: LIMIT_MS });
    this.#child.stdout?.on('data', (chunk: Buffer) => (this.said += chunk.toString()));
    this.#child.stderr?.on('data', (chunk: Buffer) => (this.said += chunk.toString()));
    this.#end = once(this.#child, 'close').then(([code]) => code as number | null);
  }

  async until(text: string | RegExp): Promise<void> {
    const isThere = (): boolean => (typeof text === 'string' ? this.said.includes(text) : text.test(this.said));
    while (!isThere()) {
      const more = [this.#child.stdout, this.#child.stderr].map(async (stream) => {
        if (stream !== null) await once(stream, 'data');
      });
      const over = this.#end.then(() => Promise.reject(new Error(`it ended without ${String(text)}: ${this.said}`)));
      await Promise.race([...more, over]);
    }
  }

  /** Ctrl-C in a pseudo-terminal. */
  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  async end(): Promise<number | null> {
    return await this.#end;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGINT');
    await this.#end;
  }
}

function inPipe(...args: readonly string[]): Following {
  return new Following(process.execPath, [MAIN, ...args]);
}

function inTerminal(...args: readonly string[]): Following {
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
  return new Following('script', ['-qec', `stty cols 100 rows 30; ${command}`, '/dev/null']);
}

async function putFilter(name: string): Promise<void> {
  const { status } = await plane.call('PUT', `/saved-filters/${name}`, { list: 'clusters', query: 'health=degraded' });
  if (status !== 200) throw new Error(`filter: ${status}`);
}

/** An operator's word about a job that it was offered. */
async function tellReady(intentId: string, message: string): Promise<void> {
  const event = {
    eventKey: `condition/uid/${message}`,
    kind: 'ConditionTransition',
    resourceRef: {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'shop',
      name: 'podinfo',
      uid: 'uid-podinfo',
      generation: 1,
    },
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'HelmReleaseReady',
        message,
        observedGeneration: 1,
        lastTransitionTime: '2026-11-28T10:00:00Z',
      },
    ],
    source: { intentId, epoch: 1, generation: 1 },
    timestamp: '2026-11-28T10:00:00Z',
    sequence: '1.1',
  };
  const answer = await agent.post('/api/agent/events', { cluster_id: agent.id, events: [event] });
  if (answer.status !== 204) throw new Error(`events: ${answer.status} ${JSON.stringify(answer.body)}`);
}

describe('what is followed', () => {
  it('is told once and whole, whatever the control plane does meanwhile', LIMITED, async () => {
    const audit = inPipe('audit', '--follow', '--kind', 'SavedFilterUpdated');
    await putFilter('first');
    await audit.until('saved filter first ');
    // More than a page between two looks.
    await Promise.all(Array.from({ length: 12 }, async (_, n) => await putFilter(`burst-${n}`)));
    await plane.stop();
    await audit.until('the control plane does not answer');
    await plane.startAgain();
    for (let n = 0; n < 12; n += 1) await putFilter(`after-${n}`);
    await audit.until('saved filter after-11 ');
    await audit.kill();
    const told = [...audit.said.matchAll(/saved filter (\S+) /g)].map(([, name]) => name);
    const { body } = await plane.call('GET', '/audit?kind=SavedFilterUpdated&limit=100');
    const stored = (body['items'] as { summary: string }[])
      .toReversed()
      .map(({ summary }) => /saved filter (\S+) /.exec(summary)?.[1]);
    expect(told).toEqual(stored);
    expect(told).toHaveLength(25);
  });

  it(
    'shows in a pipe a line for each change, in a terminal the same place again, until it is ready',
    LIMITED,
    async () => {
      const { body } = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
      const id = String(body['id']);
      await plane.until(id, 'delivered');
      const piped = inPipe('apps', 'status', 'prod-eu', '--until', 'ready');
      const shown = inTerminal('apps', 'status', 'prod-eu', 'podinfo', '--watch');
      const events = inPipe('events', 'prod-eu', '--follow');
      await piped.until('delivered, progressing, 6.5.0');
      await shown.until(/to come.*ready/);
      await tellReady(id, 'all runs');
      expect(await piped.end()).toBe(0);
      expect(piped.said).toMatch(
        /^\S+Z {2}prod-eu\/shop\/podinfo {2}delivered, .*\n(?:.*\n)*\S+Z {2}prod-eu\/shop\/podinfo {2}ready, healthy, 6\.5\.0, generation 1\n$/,
      );
      // Back over the lines that were shown, and what was behind them.
      await shown.until(new RegExp(`${ESCAPE}\\[\\d+A${ESCAPE}\\[J[^]*health +${ESCAPE}\\[32mhealthy`));
      shown.type('\u0003');
      expect(await shown.end()).toBe(130);
      await events.until('ApplicationInstance/shop/podinfo  Ready=True (HelmReleaseReady)  all runs\n');
      await events.kill();
    },
  );
});
