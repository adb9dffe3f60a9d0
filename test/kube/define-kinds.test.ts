import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubeError, type ClusterApi } from '../../src/kube/cluster-api.ts';
import { connectCluster, type ClusterConnection } from '../../src/kube/connect-cluster.ts';
import { defineKinds, untilServed } from '../../src/kube/define-kinds.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/start-sandbox.ts';
import { veleroCrds } from '../../src/sandbox/velero-crds.ts';
import { ManualClock } from '../support/manual-clock.ts';

type Served = Pick<ClusterApi, 'apply' | 'get' | 'list'>;

let sandbox: Sandbox;
let connection: ClusterConnection;
let clock: ManualClock;

beforeEach(async () => {
  clock = new ManualClock();
  sandbox = await startSandbox({ tls: false });
  const kubeconfig = { kind: 'text', yaml: sandbox.kubeconfig() } as const;
  connection = connectCluster({ kubeconfig, userAgent: 'test', clock: systemClock, random: Math.random });
});
afterEach(async () => {
  await connection[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
});

/** The sandbox, some of whose answers are faults for a while. */
function faulty(faultOf: (what: string) => KubeError | undefined): Served & { readonly asked: string[] } {
  const asked: string[] = [];
  const note = (what: string): void => {
    asked.push(what);
    const fault = faultOf(what);
    if (fault !== undefined) throw fault;
  };
  return {
    asked,
    apply: async <T extends KubeObject>(...args: Parameters<ClusterApi['apply']>) => {
      note(`apply ${args[0].metadata.name}`);
      return await connection.apply<T>(...args);
    },
    get: async <T extends KubeObject>(...args: Parameters<ClusterApi['get']>) => {
      note(`get ${args[0].name}`);
      return await connection.get<T>(...args);
    },
    list: async <T extends KubeObject>(...args: Parameters<ClusterApi['list']>) => {
      note(`list ${args[0].kind}`);
      return await connection.list<T>(...args);
    },
  };
}

/** Moves the clock by one look once the wait has come to it. */
async function nextLook(): Promise<void> {
  await expect.poll(() => clock.sleeping, { interval: 1, timeout: 30_000 }).toBe(1);
  clock.advance(100);
}

const notServed = new KubeError('it serves velero.io/v1, but no kind Restore', { status: 404, reason: 'KindNotFound' });

describe('the wait for kinds that were defined', () => {
  it('ends once the last kind of a group is served, whichever are served before', async () => {
    let isServed = false;
    const api = faulty((what) => (what === 'list Restore' && !isServed ? notServed : undefined));
    let isOver = false;
    const waiting = defineKinds(api, veleroCrds(), { fieldManager: 'test', clock: systemClock }).then(() => {
      isOver = true;
    });
    const looks = (): number => api.asked.filter((what) => what === 'list Restore').length;
    await expect.poll(looks, { timeout: 30_000 }).toBeGreaterThan(1);
    expect(isOver).toBe(false);
    isServed = true;
    await waiting;
    const kinds = veleroCrds().map((definition) => (definition['spec'] as { names: { kind: string } }).names.kind);
    expect(new Set(api.asked.filter((what) => what.startsWith('list')))).toEqual(
      new Set(kinds.map((kind) => `list ${kind}`)),
    );
  });

  it('is over after a minute, and says which kind it was and why', async () => {
    const definitions = veleroCrds();
    for (const definition of definitions) await connection.apply(definition, { fieldManager: 'test' });
    await sandbox.settled();
    const api = faulty((what) => (what === 'list Restore' ? notServed : undefined));
    const failure = untilServed(api, definitions, { clock }).catch((error: unknown) => error);
    await nextLook();
    await expect.poll(() => clock.sleeping, { interval: 1, timeout: 30_000 }).toBe(1);
    clock.advance(60_000);
    await expect(failure).resolves.toMatchObject({
      message: `Restore of velero.io/v1 is not served 60 s after its definition was taken: ${notServed.message}`,
      reason: 'KindNotFound',
    });
  });

  it('waits for a definition that the server does not have yet, and is left when it is aborted', async () => {
    const stop = new AbortController();
    const api = faulty(() => undefined);
    const waiting = untilServed(api, veleroCrds(), { clock, signal: stop.signal }).catch((error: unknown) => error);
    await nextLook();
    await expect.poll(() => [api.asked.length, clock.sleeping], { timeout: 30_000 }).toEqual([2, 1]);
    stop.abort(new Error('the sandbox is stopped'));
    await expect(waiting).resolves.toMatchObject({ message: 'the sandbox is stopped' });
  });

  it('takes one that the server has not looked at yet for none, as 1.20 shows it', async () => {
    const definitions = veleroCrds();
    for (const definition of definitions) await connection.apply(definition, { fieldManager: 'test' });
    await sandbox.settled();
    let isSeen = false;
    const api = faulty(() => undefined);
    const get: Served['get'] = async (...args) => {
      const found = await api.get(...args);
      return (isSeen ? found : { ...found, status: { conditions: null } }) as never;
    };
    const waiting = untilServed({ ...api, get }, definitions, { clock });
    await expect.poll(() => clock.sleeping, { interval: 1 }).toBe(1);
    isSeen = true;
    clock.advance(100);
    await waiting;
    expect(api.asked.filter((what) => what.startsWith('list'))).toHaveLength(definitions.length);
  });

  it('does not wait where another look changes nothing', async () => {
    const denied = new KubeError('backups.velero.io is forbidden', { status: 403, reason: 'Forbidden' });
    const api = faulty((what) => (what.startsWith('list') ? denied : undefined));
    await expect(defineKinds(api, veleroCrds(), { fieldManager: 'test', clock: systemClock })).rejects.toBe(denied);
  });
});
