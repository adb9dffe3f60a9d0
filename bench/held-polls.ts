import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { AGENT_CREDENTIAL_LIFETIME_MS } from '../src/control-plane/store/agent-credentials.ts';
import { openStore } from '../src/control-plane/store/open-store.ts';
import { DEFAULT_INTERVALS } from '../src/protocol/agent-config.ts';
import { newClusterId } from '../src/protocol/ids.ts';
import { hashToken, mintToken } from '../src/protocol/token.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { createLogger } from '../src/runtime/logger.ts';
import { Program } from '../examples/first-app/program.ts';
import type { Answered, ClientOrders, Poller } from './held-polls-client.ts';

/**
 * Held job polls on one control plane, a process of its own over plain HTTP as behind a proxy that ends TLS: the memory
 * that each takes, and how long a job takes from the request that asks for it to the poll's answer. The clusters are
 * written into the database beforehand; everything else goes over the wire. Prints one JSON object.
 */
const { values } = parseArgs({
  options: {
    polls: { type: 'string', default: '19800' },
    jobs: { type: 'string', default: '500' },
    'jobs-per-second': { type: 'string', default: '25' },
    /** `NODE_OPTIONS` of the control plane. */
    'node-options': { type: 'string', default: '' },
  },
});
const POLLS = Number(values.polls);
const JOBS = Number(values.jobs);
const JOB_EVERY_MS = 1000 / Number(values['jobs-per-second']);
const CLIENTS = 3;
const SETTLE_MS = 10_000;
const ADMIN_TOKEN = `bench-${randomBytes(24).toString('hex')}`;

const directory = mkdtempSync(join(tmpdir(), 'bench-held-polls-'));
await using taken = new AsyncDisposableStack();
taken.defer(() => rmSync(directory, { recursive: true, force: true }));

const env = {
  SERVICE_LISTEN: '127.0.0.1:0',
  SERVICE_DATA_DIR: directory,
  SERVICE_ADMIN_TOKEN: ADMIN_TOKEN,
  SERVICE_LOG_LEVEL: 'warn',
  NODE_OPTIONS: values['node-options'],
};
await (await startControlPlane())[Symbol.asyncDispose]();
const pollers = await seed();
const program = taken.use(await startControlPlane());
const url = /http:\S+/.exec(program.readyLine)?.[0] ?? '';
await admin('PUT', '/catalog/podinfo', {
  chart: { type: 'oci', url: 'oci://charts.example.com/podinfo', name: 'podinfo' },
  versions: '>=1.0.0 <2',
});

const pid = program.pid ?? 0;
const idleBytes = residentBytes(pid);
const arrivals = new Map<string, (at: number) => void>();
const clients = await holdPolls();
await sleep(SETTLE_MS);
const heldBytes = residentBytes(pid);
const waits = await sendJobs();
for (const client of clients) client.kill();

const bytesEach = Math.round((heldBytes - idleBytes) / POLLS);
process.stdout.write(
  `${JSON.stringify({ polls: POLLS, idleBytes, heldBytes, bytesEach, jobs: waits.length, ms: quantiles(waits) }, null, 2)}\n`,
);

async function startControlPlane(): Promise<Program> {
  return await Program.start({
    name: 'control plane',
    args: [join(import.meta.dirname, '../src/control-plane/main.ts')],
    env,
    logFile: join(directory, 'control-plane.log'),
    startTimeoutMs: 30_000,
    readyLine: /is ready at/,
  });
}

/** Clusters as they are after their registration, each with a credential. */
async function seed(): Promise<Poller[]> {
  await using store = await openStore({
    url: `sqlite:${join(directory, 'control-plane.db')}`,
    clock: systemClock,
    logger: createLogger('bench', 'warn'),
  });
  const { id: organization } = await store.db.selectFrom('organizations').select('id').executeTakeFirstOrThrow();
  const at = new Date().toISOString();
  const expires = new Date(Date.now() + AGENT_CREDENTIAL_LIFETIME_MS).toISOString();
  const made: Poller[] = [];
  while (made.length < POLLS) {
    const chunk = Array.from({ length: Math.min(500, POLLS - made.length) }, () => ({
      clusterId: newClusterId(randomBytes),
      token: mintToken('svcagt', randomBytes).expose(),
    }));
    await store.write(async (trx) => {
      await trx
        .insertInto('clusters')
        .values(chunk.map(({ clusterId }, index) => clusterRow(clusterId, organization, made.length + index, at)))
        .execute();
      await trx
        .insertInto('agent_credentials')
        .values(
          chunk.map(({ clusterId, token }) => ({
            id: `cred-${clusterId}`,
            cluster_id: clusterId,
            token_hash: hashToken(token),
            issued_at: at,
            rotate_after: expires,
            expires_at: expires,
            first_used_at: at,
            revoked_at: null,
            rotated_at: null,
            replaces: null,
          })),
        )
        .execute();
    });
    made.push(...chunk);
  }
  return made;
}

function clusterRow(id: string, organization: string, number: number, at: string) {
  return {
    id,
    organization_id: organization,
    slug: `cluster-${number}`,
    display_name: `cluster ${number}`,
    status: 'Active' as const,
    disabled_at: null,
    connectivity_mode: 'pull' as const,
    delivery_epoch: 1,
    delivery_held: 0,
    reported_epoch: null,
    config_revision: 2,
    cluster_uid: id,
    public_key: null,
    allowed_namespaces: '["shop"]',
    allowed_catalog_entries: '["podinfo"]',
    allowed_operation_templates: '[]',
    security: JSON.stringify({ requireSignedPayloads: false, requireEncryptedSecretPayloads: false }),
    intervals: JSON.stringify(DEFAULT_INTERVALS),
    repository_id: null,
    git_directory: null,
    desired_revision: null,
    applied_revision: null,
    operator_version: null,
    desired_operator_version: null,
    revoked_at: null,
    require_client_certificate: 0,
    deliver_intents: 0,
    last_contact_at: at,
    registered_at: at,
    created_at: at,
  };
}

/** Every poll sent and held: the server has read them all once it has answered a request that came after them. */
async function holdPolls(): Promise<ChildProcess[]> {
  const port = Number(new URL(url).port);
  const share = Math.ceil(pollers.length / CLIENTS);
  return await Promise.all(
    Array.from({ length: CLIENTS }, async (_, index) => {
      const client = fork(join(import.meta.dirname, 'held-polls-client.ts'));
      taken.defer(() => void client.kill());
      const sent = Promise.withResolvers<void>();
      client.on('message', (message: Answered | 'sent') => {
        if (message === 'sent') sent.resolve();
        else arrivals.get(message.clusterId)?.(message.at);
      });
      client.once('exit', () => sent.reject(new Error('a client ended early')));
      const orders: ClientOrders = {
        port,
        // Ephemeral ports are per source address.
        localAddress: `127.0.0.${index + 2}`,
        pollers: pollers.slice(index * share, (index + 1) * share),
      };
      client.send(orders);
      await sent.promise;
      return client;
    }),
  );
}

/** Milliseconds from the request for each intent to the answer of its cluster's poll. */
async function sendJobs(): Promise<number[]> {
  const chosen = pollers
    .map((poller) => ({ poller, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .slice(0, JOBS)
    .map(({ poller }) => poller);
  const running: Promise<number>[] = [];
  for (const { clusterId } of chosen) {
    const arrived = new Promise<number>((resolve) => arrivals.set(clusterId, resolve));
    const from = Date.now();
    running.push(
      admin('POST', `/clusters/${clusterId}/intents`, {
        action: 'install',
        namespace: 'shop',
        name: 'podinfo',
        catalogEntry: 'podinfo',
        chartVersion: '1.0.0',
      }).then(async () => (await arrived) - from),
    );
    await sleep(JOB_EVERY_MS);
  }
  return await Promise.all(running);
}

async function admin(method: string, path: string, body: unknown): Promise<void> {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
  await answer.arrayBuffer();
}

function residentBytes(of: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${of}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}

function quantiles(ms: readonly number[]): Record<string, number | undefined> {
  const sorted = [...ms].sort((a, b) => a - b);
  const at = (share: number): number | undefined =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: sorted.at(-1) };
}
