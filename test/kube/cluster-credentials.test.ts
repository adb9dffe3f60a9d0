import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request, type Dispatcher } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClusterCredentials, RETIRED_MS } from '../../src/kube/cluster-credentials.ts';
import { connectCluster, type ClusterConnection } from '../../src/kube/connect-cluster.ts';
import type { KubeconfigSource } from '../../src/kube/load-kubeconfig.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { json, startStubServer, type StubServer } from './stub-server.ts';

const REREAD_MS = 10_000;
const KIND = { apiVersion: 'v1', kind: 'ConfigMap' };
const OBJECT = { ...KIND, metadata: { namespace: 'default', name: 'a' } };
const ref = { ...KIND, namespace: 'default', name: 'a' };

let folder: string;
let server: StubServer;
let clock: ManualClock;
let source: KubeconfigSource;

/** Another CA in the file, as far as the client can tell; it is read again at the next request. */
async function rotate(ca: string): Promise<void> {
  await writeFile(join(folder, 'ca.crt'), ca);
  clock.advance(REREAD_MS);
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'credentials-'));
  server = await startStubServer();
  clock = new ManualClock();
  await writeFile(join(folder, 'ca.crt'), 'one');
  const config = JSON.parse(server.kubeconfig()) as { clusters: [{ cluster: Record<string, string> }] };
  config.clusters[0].cluster['certificate-authority'] = join(folder, 'ca.crt');
  await writeFile(join(folder, 'kubeconfig'), JSON.stringify(config));
  source = { kind: 'file', path: join(folder, 'kubeconfig') };
});

afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe('a credential that rotates', () => {
  const ask = async (dispatcher: Dispatcher): Promise<number> => {
    const answer = await request(`${server.url}/x`, { dispatcher });
    await answer.body.dump();
    return answer.statusCode;
  };

  it('lets what took its connection before be sent afterwards, for as long as a request may last', async () => {
    server.handle(json(200, {}));
    await using credentials = new ClusterCredentials({ source, clock });
    const before = await credentials.connection();
    await rotate('two');
    const after = await credentials.connection();
    expect(after.dispatcher).not.toBe(before.dispatcher);
    expect(await ask(before.dispatcher)).toBe(200);
    clock.advance(RETIRED_MS - 1);
    expect(await ask(before.dispatcher)).toBe(200);
    clock.advance(1);
    await expect(ask(before.dispatcher)).rejects.toMatchObject({ code: 'UND_ERR_DESTROYED' });
    expect(await ask((await credentials.connection()).dispatcher)).toBe(200);
  });

  it('goes back to its first connections when it comes back before they end', async () => {
    server.handle(json(200, {}));
    await using credentials = new ClusterCredentials({ source, clock });
    const { dispatcher } = await credentials.connection();
    await rotate('two');
    await credentials.connection();
    await rotate('one');
    expect((await credentials.connection()).dispatcher).toBe(dispatcher);
    clock.advance(RETIRED_MS);
    expect(await ask(dispatcher)).toBe(200);
  });
});

describe('a connection', () => {
  let api: ClusterConnection;
  /** Answers of watches, and of whatever else is kept waiting. */
  const gone: string[] = [];

  const watching = async (): Promise<{ readonly ended: Promise<unknown> }> => {
    const opened = Promise.withResolvers<void>();
    const follow = async (): Promise<string> => {
      const options = { resourceVersion: '1', onOpen: () => opened.resolve() };
      for await (const _ of api.watch(KIND, options, new AbortController().signal)) throw new Error('an event');
      return 'ended by the server';
    };
    const ended = follow().catch((error: unknown) => error);
    await opened.promise;
    return { ended };
  };

  beforeEach(() => {
    gone.length = 0;
    api = connectCluster({ kubeconfig: source, userAgent: 'test', clock, random: () => 0 });
    server.handle((received, response) => {
      const { url = '' } = received;
      response.on('close', () => gone.push(url));
      if (url.includes('watch=true')) response.writeHead(200).flushHeaders();
    });
  });
  afterEach(async () => {
    await api[Symbol.asyncDispose]();
  });

  it('gives up a watch that goes by an old credential, so that it is opened anew by the new one', async () => {
    const { ended } = await watching();
    await rotate('two');
    const second = await watching();
    clock.advance(RETIRED_MS);
    expect(await ended).toMatchObject({ status: 0, reason: 'ConnectionFailed' });
    await expect.poll(() => gone).toHaveLength(1);
    await api[Symbol.asyncDispose]();
    await second.ended;
  });

  it('that is disposed of ends watches by old credentials too', async () => {
    const first = await watching();
    await rotate('two');
    const second = await watching();
    await api[Symbol.asyncDispose]();
    expect(await Promise.all([first.ended, second.ended])).toMatchObject([{ status: 0 }, { status: 0 }]);
    await expect.poll(() => gone).toHaveLength(2);
  });

  it('that is disposed of ends its requests as aborted, and repeats none', async () => {
    const asked = Promise.allSettled([
      api.get(ref),
      api.apply(OBJECT, { fieldManager: 'test' }),
      api.create(OBJECT, 'test'),
    ]);
    await expect.poll(() => server.received.length).toBe(3);
    await api[Symbol.asyncDispose]();
    const outcomes = (await asked).map((outcome) => outcome.status === 'rejected' && outcome.reason);
    expect(outcomes).toMatchObject([{ reason: 'Aborted' }, { reason: 'Aborted' }, { reason: 'Aborted' }]);
    await expect.poll(() => gone).toHaveLength(3);
    await expect(api.get(ref)).rejects.toMatchObject({ status: 0, reason: 'Aborted' });
    expect(server.received).toHaveLength(3);
  });

  it('that is disposed of while its credential is read opens nothing', async () => {
    const asked = api.version().catch((error: unknown) => error);
    await api[Symbol.asyncDispose]();
    expect(await asked).toMatchObject({ status: 0, reason: 'Aborted' });
    expect(server.received).toEqual([]);
    expect(clock.sleeping).toBe(0);
  });
});
