import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { deriveHmacKey, signRequest } from '../../src/protocol/hmac.ts';
import { AGENT_MEDIA_TYPE } from '../../src/protocol/media-type.ts';
import type { RegisterResponse } from '../../src/protocol/register.ts';
import type { RotateResponse } from '../../src/protocol/credentials.ts';
import { mintToken } from '../../src/protocol/token.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { INSTALL, PODINFO, type Answer } from '../control-plane/running-control-plane.ts';
import { newPostgresDatabase } from '../support/postgres/new-database.ts';
import { ReplicaProcess } from './replica-process.ts';

const run = promisify(execFile);
const ADMIN_TOKEN = mintToken('svcadm', randomBytes).expose();
const SECONDS = { timeout: 20_000, interval: 25 };

let folder: string;
let a: ReplicaProcess;
let b: ReplicaProcess;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'two-replicas-'));
  const env = {
    SERVICE_DATABASE_URL: await newPostgresDatabase(),
    SERVICE_DATA_DIR: folder,
    SERVICE_BASE_URL: 'http://127.0.0.1:1',
    SERVICE_ADMIN_TOKEN: ADMIN_TOKEN,
  };
  // Both at once, over an empty database and an empty folder.
  [a, b] = await Promise.all([ReplicaProcess.start(env), ReplicaProcess.start(env)]);
  expect((await admin(a, 'PUT', '/catalog/podinfo', PODINFO)).status).toBe(200);
});
afterAll(async () => {
  await a?.kill();
  await b?.kill();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

async function admin(replica: ReplicaProcess, method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${ADMIN_TOKEN}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  return await replica.call(method, `/api/v1${path}`, headers, body === undefined ? undefined : JSON.stringify(body));
}

async function newCluster(replica: ReplicaProcess, slug: string, mode: 'pull' | 'gitops'): Promise<Answer['body']> {
  const answer = await admin(replica, 'POST', '/clusters', {
    slug,
    displayName: slug,
    allowedNamespaces: ['shop'],
    allowedCatalogEntries: ['podinfo'],
    allowedOperationTemplates: [],
    connectivityMode: mode,
  });
  expect(answer.status).toBe(201);
  return answer.body;
}

interface Agent {
  readonly id: string;
  readonly token: string;
}

async function register(replica: ReplicaProcess, slug: string): Promise<Agent> {
  const { registrationToken } = await newCluster(replica, slug, 'pull');
  const { status, body } = await replica.call(
    'POST',
    '/api/agent/register',
    { 'content-type': AGENT_MEDIA_TYPE },
    JSON.stringify({ token: registrationToken }),
  );
  expect(status).toBe(200);
  const { cluster_id: id, token } = body as unknown as RegisterResponse;
  return { id, token };
}

/** A signed post of an agent, or a request without a body. */
async function agentCall(
  replica: ReplicaProcess,
  agent: Agent,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const key = deriveHmacKey(new Secret(agent.token), agent.id);
  const headers = {
    accept: AGENT_MEDIA_TYPE,
    authorization: `Bearer ${agent.token}`,
    ...(method === 'GET' ? {} : { 'service-signature': signRequest({ key, method, path, body, at: new Date() }) }),
    ...(body === undefined ? {} : { 'content-type': AGENT_MEDIA_TYPE }),
  };
  return await replica.call(method, path, headers, body === undefined ? undefined : JSON.stringify(body));
}

const either = (): ReplicaProcess => (randomInt(2) === 0 ? a : b);

async function poll(replica: ReplicaProcess, agent: Agent, wait: number): Promise<Answer> {
  return await agentCall(replica, agent, 'GET', `/api/agent/jobs?cluster=${agent.id}&wait=${wait}`);
}

async function install(replica: ReplicaProcess, slug: string, name: string): Promise<Answer> {
  return await admin(replica, 'POST', `/clusters/${slug}/intents`, { ...INSTALL, name });
}

async function state(replica: ReplicaProcess, intent: string): Promise<unknown> {
  return (await admin(replica, 'GET', `/intents/${intent}`)).body['state'];
}

describe('S3: two replicas without sticky sessions', () => {
  it('make one default organization and keep one master key, though both started at once', async () => {
    const seen = await Promise.all([a, b].map(async (replica) => await admin(replica, 'GET', '/clusters')));
    expect(seen.map(({ status }) => status)).toEqual([200, 200]);
    const agent = await register(a, 'one-key');
    // Its signing key was sealed by one replica, and the other opens it to sign a job.
    const held = poll(b, agent, 20);
    expect((await install(a, 'one-key', 'podinfo')).status).toBe(202);
    expect((await held).body['jobs']).toHaveLength(1);
  });

  it('wake a poll that is held on one by an intent that is accepted on the other', async () => {
    const agent = await register(a, 'woken');
    for (const [holding, accepting] of [
      [a, b],
      [b, a],
    ] as const) {
      const held = poll(holding, agent, 60);
      const accepted = await install(accepting, 'woken', `podinfo-${holding === a ? 'a' : 'b'}`);
      const from = performance.now();
      const { status, body } = await held;
      expect(status).toBe(200);
      expect(performance.now() - from).toBeLessThan(5000);
      const [job] = body['jobs'] as { id: string }[];
      expect((await agentCall(accepting, agent, 'POST', `/api/agent/jobs/${job?.id}/ack`)).status).toBe(204);
      expect(await state(holding, String(accepted.body['id']))).toBe('delivered');
    }
  });

  it('serve one agent by turns: every step of a job and of a rotation at whichever comes', async () => {
    let agent = await register(either(), 'by-turns');
    for (let round = 0; round < 6; round += 1) {
      const accepted = await install(either(), 'by-turns', `podinfo-${round}`);
      const { body } = await poll(either(), agent, 20);
      const [job] = body['jobs'] as { id: string; payload: { metadata: { name: string } } }[];
      expect(job?.payload.metadata.name).toBe(`podinfo-${round}`);
      const path = `/api/agent/jobs/${job?.id}`;
      expect((await agentCall(either(), agent, 'POST', `${path}/ack`)).status).toBe(204);
      const status = { phase: 'Reconciling', timestamp: new Date().toISOString() };
      expect((await agentCall(either(), agent, 'POST', `${path}/status`, status)).status).toBe(204);
      if (round % 2 === 0) {
        const rotated = await agentCall(either(), agent, 'POST', '/api/agent/credentials/rotate', {});
        expect(rotated.status).toBe(200);
        agent = { ...agent, token: (rotated.body as unknown as RotateResponse).token };
      }
      const result = { outcome: 'succeeded', timestamp: new Date().toISOString() };
      const results = await Promise.all(
        [a, b].map(async (to) => agentCall(to, agent, 'POST', `${path}/result`, result)),
      );
      expect(results.map((answer) => answer.status).sort((x, y) => x - y)).toEqual([204, 409]);
      expect(await state(either(), String(accepted.body['id']))).toBe('ready');
    }
  });

  it('let a registration token be used once, though both are asked at once', async () => {
    const { registrationToken } = await newCluster(a, 'raced', 'pull');
    const answers = await Promise.all(
      [a, b, a, b].map(
        async (replica) =>
          await replica.call(
            'POST',
            '/api/agent/register',
            { 'content-type': AGENT_MEDIA_TYPE },
            JSON.stringify({ token: registrationToken }),
          ),
      ),
    );
    expect(answers.map(({ status }) => status).sort((x, y) => x - y)).toEqual([200, 401, 401, 401]);
  });

  it('take over the Git queue of one that is killed: every accepted intent is committed once', async () => {
    await newCluster(a, 'prod-eu', 'gitops');
    const accepted: string[] = [];
    const take = async (replica: ReplicaProcess, name: string): Promise<void> => {
      const answer = await install(replica, 'prod-eu', name).catch(() => undefined);
      if (answer?.status === 202) accepted.push(String(answer.body['id']));
    };
    const before = Array.from({ length: 12 }, async (_, n) => await take(n % 2 === 0 ? a : b, `app-${n}`));
    await vi.waitFor(() => expect(accepted.length).toBeGreaterThan(2), SECONDS);
    await a.kill();
    await Promise.all(before);
    await Promise.all(Array.from({ length: 4 }, async (_, n) => await take(b, `later-${n}`)));
    await vi.waitFor(async () => {
      const states = await Promise.all(accepted.map(async (id) => await state(b, id)));
      expect(new Set(states)).toEqual(new Set(['delivered']));
    }, SECONDS);
    const log = ['-C', join(folder, 'git', 'fleet.git'), 'log', '--format=%(trailers:key=Intent-Id,valueonly)', 'main'];
    const committed = (await run('git', log)).stdout.split('\n').filter((line) => line !== '');
    expect(committed.filter((id) => accepted.includes(id)).sort()).toEqual([...accepted].sort());
    expect(new Set(committed).size).toBe(committed.length);
  });
});
