import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { createInformer } from '../../src/kube/informer.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { forgetHistory } from '../support/real-cluster/forget-history.ts';
import { describeRealCluster, START_TIMEOUT_MS, type RealCluster } from '../support/real-cluster/real-cluster.ts';

const KIND = { apiVersion: 'v1', kind: 'ConfigMap' } as const;
const logger = createLogger('test', 'silent');

interface Watched {
  /** `+a=1`, `~a=2`, `-a` in the order of the calls. */
  readonly log: string[];
  readonly lists: () => number;
  readonly until: (entry: string) => Promise<void>;
}

describeRealCluster('an informer on a real API server', (start) => {
  let cluster: RealCluster;
  let api: ClusterApi & AsyncDisposable;
  let stop: AbortController;
  let running: Promise<void>[];
  let label: string;
  let rounds = 0;

  beforeAll(async () => {
    cluster = await start();
    const kubeconfig = { kind: 'text', yaml: cluster.kubeconfig } as const;
    const requestTimeoutMs = 5_000;
    api = connectCluster({ kubeconfig, userAgent: 'test', requestTimeoutMs, clock: systemClock, random: Math.random });
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await api?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    rounds += 1;
    label = `round-${rounds}`;
    stop = new AbortController();
    running = [];
  });
  afterEach(async () => {
    stop.abort();
    await Promise.all(running);
  });

  async function watch(): Promise<Watched> {
    const log: string[] = [];
    const bells: (() => void)[] = [];
    let lists = 0;
    const counted: ClusterApi = {
      ...api,
      async list(kind, options, signal) {
        lists += 1;
        return api.list(kind, options, signal);
      },
    };
    const scope = { kind: KIND, namespace: 'default', labelSelector: `of=${label}` };
    const informer = createInformer({ ...scope, api: counted, clock: systemClock, random: () => 0, logger });
    informer.onChange((before, after) => {
      const name = (after ?? before)?.metadata.name ?? '';
      const value = (after?.['data'] as { v?: string } | undefined)?.v ?? '';
      log.push(after === undefined ? `-${name}` : `${before === undefined ? '+' : '~'}${name}=${value}`);
      for (const bell of bells) bell();
    });
    running.push(informer.run(stop.signal));
    await informer.synced();
    return {
      log,
      lists: () => lists,
      async until(entry) {
        while (!log.includes(entry)) {
          const { promise, resolve } = Promise.withResolvers<void>();
          bells.push(resolve);
          await promise;
        }
      },
    };
  }

  async function put(name: string, v: string): Promise<void> {
    const metadata = { name: `${label}-${name}`, namespace: 'default', labels: { of: label } };
    await api.apply({ ...KIND, metadata, data: { v } }, { fieldManager: 'test', force: true });
  }

  async function remove(name: string): Promise<void> {
    await api.delete({ ...KIND, namespace: 'default', name: `${label}-${name}` });
  }

  /** The log with this round's names cut short. */
  const short = (log: readonly string[]): string[] => log.map((entry) => entry.replace(`${label}-`, ''));

  it('loses and doubles nothing when the API server restarts', { timeout: 120_000 }, async () => {
    for (const name of ['a', 'b', 'c']) await put(name, '1');
    const { log, until } = await watch();
    expect(short(log).toSorted()).toEqual(['+a=1', '+b=1', '+c=1']);
    await put('a', '2');
    await until(`~${label}-a=2`);
    await cluster.stopApiServer();
    await cluster.startApiServer();
    await put('b', '2');
    await remove('c');
    await put('d', '1');
    await until(`+${label}-d=1`);
    await until(`-${label}-c`);
    await until(`~${label}-b=2`);
    expect(short(log).slice(3).toSorted()).toEqual(['~a=2', '~b=2', '+d=1', '-c'].toSorted());
  });

  it('tells of nothing unchanged after a restart that made its version too old', { timeout: 120_000 }, async () => {
    for (const name of ['a', 'b', 'c']) await put(name, '1');
    const { log, lists, until } = await watch();
    // Other objects move the revision on, which a watch that selects does not hear of.
    await api.create({ ...KIND, metadata: { name: `${label}-other`, namespace: 'default' } }, 'test');
    await forgetHistory(cluster);
    await put('a', '2');
    await put('e', '1');
    await until(`+${label}-e=1`);
    await until(`~${label}-a=2`);
    expect(short(log).toSorted()).toEqual(['+a=1', '+b=1', '+c=1', '+e=1', '~a=2'].toSorted());
    expect(lists()).toBe(2);
  });

  it(
    'goes on where it was when the server stands still for longer than a request may take',
    { timeout: 60_000 },
    async () => {
      await put('a', '1');
      const { log, lists, until } = await watch();
      await cluster.pauseApiServer();
      // Given up by its writer; whether the server still carries it out when it runs again, nobody knows.
      const written = put('a', '2').catch((error: unknown) => error);
      await expect(api.version(AbortSignal.timeout(6_000))).rejects.toMatchObject({ status: 0 });
      await cluster.resumeApiServer();
      await written;
      await put('a', '2');
      await until(`~${label}-a=2`);
      await put('b', '1');
      await until(`+${label}-b=1`);
      expect(short(log)).toEqual(['+a=1', '~a=2', '+b=1']);
      expect(lists()).toBe(1);
    },
  );

  it('hears every change once while writes and restarts go on together', { timeout: 120_000 }, async () => {
    const { log, until } = await watch();
    const write = async (name: string, v: string): Promise<void> => {
      for (;;) {
        try {
          return await put(name, v);
        } catch {
          await systemClock.sleep(50);
        }
      }
    };
    const writing = (async () => {
      for (let round = 1; round <= 40; round += 1) await write(`w${round % 5}`, String(round));
    })();
    await cluster.stopApiServer();
    await cluster.startApiServer();
    await writing;
    await put('end', '1');
    await until(`+${label}-end=1`);
    const seen = short(log).filter((entry) => entry !== '+end=1');
    expect(new Set(seen).size).toBe(seen.length);
    for (let name = 0; name < 5; name += 1) {
      const values = seen
        .filter((entry) => entry.slice(1).startsWith(`w${name}=`))
        .map((entry) => Number(entry.split('=')[1]));
      expect(values).toEqual(values.toSorted((left, right) => left - right));
      // What came last is known, whatever came between.
      expect(values.at(-1)).toBe(name === 0 ? 40 : 35 + name);
    }
  });
});
