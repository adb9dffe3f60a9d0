import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { deriveHmacKey, signRequest } from '../../src/protocol/hmac.ts';
import { AGENT_MEDIA_TYPE } from '../../src/protocol/media-type.ts';
import { mintToken } from '../../src/protocol/token.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { INSTALL, PODINFO, type Answer } from '../control-plane/running-control-plane.ts';
import { ReplicaProcess } from './replica-process.ts';

/** After how many answers of a round the control plane is killed: at another step of the jobs each time. */
const KILLS = [7, 16, 28, 45];
const INTENTS_PER_ROUND = 8;
const ADMIN_TOKEN = mintToken('svcadm', randomBytes).expose();

let folder: string;
let plane: ReplicaProcess;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'killed-'));
  plane = await begin();
});
afterEach(async () => {
  await plane.kill();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

async function begin(): Promise<ReplicaProcess> {
  return await ReplicaProcess.start({
    SERVICE_DATA_DIR: folder,
    SERVICE_ADMIN_TOKEN: ADMIN_TOKEN,
    SERVICE_RATE_LIMIT_POLLS: '10000',
    SERVICE_RATE_LIMIT_WRITES: '10000',
  });
}

async function admin(method: string, path: string, body?: unknown, key?: string): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${ADMIN_TOKEN}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  };
  return await plane.call(method, `/api/v1${path}`, headers, body === undefined ? undefined : JSON.stringify(body));
}

/** An operator that repeats what was not answered, as ours does, and notes what was. */
class Agent {
  readonly id: string;
  readonly #token: string;
  /** Jobs that it took, noted before their ack as the specification's order is. */
  readonly #journal = new Set<string>();
  readonly #acknowledged = new Set<string>();
  readonly reported = new Map<string, string>();
  /** Answers to a result: 204 the first time, 409 when the answer to the first was lost. */
  readonly answers: number[] = [];
  readonly #onAnswer: () => void;

  constructor(id: string, token: string, onAnswer: () => void) {
    this.id = id;
    this.#token = token;
    this.#onAnswer = onAnswer;
  }

  /** Works through what is offered, several at once, until nothing is. Rejects when the control plane is gone. */
  async work(): Promise<void> {
    for (;;) {
      const { body } = await this.#call('GET', `/api/agent/jobs?cluster=${this.id}&wait=0`);
      const jobs = body['jobs'] as { id: string }[];
      const offered = jobs.filter(({ id }) => this.#acknowledged.has(id));
      // What was acknowledged is not offered any more.
      expect(offered).toEqual([]);
      if (jobs.length === 0) return;
      const done = await Promise.allSettled(jobs.map(async ({ id }) => await this.#run(id)));
      const failed = done.find(({ status }) => status === 'rejected');
      if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    }
  }

  /** Goes on with what was taken and not reported. */
  async replay(): Promise<void> {
    for (const id of this.#journal) if (!this.reported.has(id)) await this.#run(id);
  }

  /** Reports a result once more. Answers the status. */
  async repeat(id: string): Promise<number> {
    const result = { outcome: 'noop', timestamp: new Date().toISOString() };
    return (await this.#call('POST', `/api/agent/jobs/${id}/result`, result)).status;
  }

  async #run(id: string): Promise<void> {
    this.#journal.add(id);
    expect([204, 409]).toContain((await this.#call('POST', `/api/agent/jobs/${id}/ack`)).status);
    this.#acknowledged.add(id);
    await this.#finish(id);
  }

  async #finish(id: string): Promise<void> {
    const path = `/api/agent/jobs/${id}`;
    const timestamp = new Date().toISOString();
    const { status } = await this.#call('POST', `${path}/status`, { phase: 'Reconciling', timestamp });
    expect([204, 409]).toContain(status);
    // One in three fails, so that it shows whose result was recorded.
    const outcome = id.charCodeAt(id.length - 1) % 3 === 0 ? 'failed' : 'succeeded';
    const error = outcome === 'failed' ? { error: `error of ${id}` } : {};
    const result = await this.#call('POST', `${path}/result`, { outcome, ...error, timestamp });
    expect([204, 409]).toContain(result.status);
    this.answers.push(result.status);
    this.reported.set(id, outcome);
  }

  async #call(method: string, path: string, body?: unknown): Promise<Answer> {
    const key = deriveHmacKey(new Secret(this.#token), this.id);
    const headers = {
      accept: AGENT_MEDIA_TYPE,
      authorization: `Bearer ${this.#token}`,
      ...(method === 'GET' ? {} : { 'service-signature': signRequest({ key, method, path, body, at: new Date() }) }),
      ...(body === undefined ? {} : { 'content-type': AGENT_MEDIA_TYPE }),
    };
    const answer = await plane.call(method, path, headers, body === undefined ? undefined : JSON.stringify(body));
    this.#onAnswer();
    return answer;
  }
}

it(
  'S1: kill -9 at any step of jobs: no accepted intent, ack or result is lost, and none is doubled',
  { timeout: 120_000 },
  async () => {
    expect((await admin('PUT', '/catalog/podinfo', PODINFO)).status).toBe(200);
    const { body } = await admin('POST', '/clusters', {
      slug: 'eu',
      displayName: 'Europe',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: [],
    });
    const registered = await plane.call(
      'POST',
      '/api/agent/register',
      { 'content-type': AGENT_MEDIA_TYPE },
      JSON.stringify({ token: body['registrationToken'] }),
    );
    const doom: { answers: number; at: number; killed?: Promise<void> } = { answers: 0, at: Infinity };
    const count = (): void => {
      doom.answers += 1;
      if (doom.answers >= doom.at) doom.killed ??= plane.kill();
    };
    const agent = new Agent(String(registered.body['cluster_id']), String(registered.body['token']), count);

    /** Every accepted intent, by the key under which it was asked for. */
    const accepted = new Map<string, string>();
    const ask = async (key: string): Promise<void> => {
      const answer = await admin('POST', '/clusters/eu/intents', { ...INSTALL, name: key }, key);
      expect(answer.status).toBe(202);
      accepted.set(key, String(answer.body['id']));
      count();
    };
    for (const [round, kill] of KILLS.entries()) {
      const keys = Array.from({ length: INTENTS_PER_ROUND }, (_, index) => `app-${round}-${index}`);
      Object.assign(doom, { answers: 0, at: kill, killed: undefined });
      const asking = Promise.allSettled(keys.map(async (key) => await ask(key)));
      // Until it is killed, whichever of the two meets it.
      await agent.replay().catch(() => undefined);
      while (doom.killed === undefined) await agent.work().catch(() => undefined);
      await asking;
      await doom.killed;
      doom.at = Infinity;
      plane = await begin();
      // What was not answered is asked for again under the same key.
      for (const key of keys) if (!accepted.has(key)) await ask(key);
    }
    await agent.replay();
    const all = KILLS.length * INTENTS_PER_ROUND;
    const worked = async (): Promise<number> => {
      await agent.work();
      return agent.reported.size;
    };
    await expect.poll(worked, { timeout: 30_000, interval: 20 }).toBe(all);
    expect(agent.answers.filter((status) => status === 409).length).toBeLessThan(all);

    const intents = (await admin('GET', '/clusters/eu/intents?limit=200')).body['items'] as { id: string }[];
    expect(intents.map(({ id }) => id).toSorted()).toEqual([...accepted.values()].toSorted());
    const jobs = (await admin('GET', '/clusters/eu/jobs?limit=200')).body['items'] as Record<string, string>[];
    expect(jobs.map(({ intentId = '' }) => intentId).toSorted()).toEqual([...accepted.values()].toSorted());
    const outcomes = new Map(jobs.map(({ id = '', state, outcome }) => [id, `${state} ${outcome}`]));
    expect(outcomes).toEqual(new Map([...agent.reported].map(([id, outcome]) => [id, `closed ${outcome}`])));
    const audit = (await admin('GET', '/audit?kind=Deploy&limit=200')).body['items'] as unknown[];
    expect(audit).toHaveLength(all);
    // Each has its one result.
    const again = await Promise.all([...agent.reported.keys()].slice(0, 5).map(async (id) => await agent.repeat(id)));
    expect(again).toEqual([409, 409, 409, 409, 409]);
  },
);
