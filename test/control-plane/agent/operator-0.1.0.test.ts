import { readFileSync } from 'node:fs';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { insertAgentCredential } from '../../../src/control-plane/store/agent-credentials.ts';
import { hashToken } from '../../../src/protocol/token.ts';
import { AgentServer, type Answer } from './agent-server.ts';

interface RecordedRequest {
  readonly at: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: { readonly events?: readonly Readonly<Record<string, unknown>>[] };
  readonly status: number;
}

interface Recording {
  readonly clusterId: string;
  readonly registrationToken: string;
  readonly token: string;
  readonly requests: readonly RecordedRequest[];
  /** How that version reads what it gets. */
  readonly answers: { readonly register: TSchema; readonly config: TSchema };
}

const file = new URL('../../vectors/operators/0.1.0.json', import.meta.url);
const recording = JSON.parse(readFileSync(file, 'utf8')) as Recording;
const posts = recording.requests.filter(({ path }) => path === '/api/agent/events');
const MEDIA_TYPE = 'application/vnd.service.agent.v1+json';

/** The control plane of today, where the recorded cluster and its tokens are known. */
async function serverThatKnowsIt(version?: string): Promise<AgentServer> {
  const server = await AgentServer.start({}, version);
  const { id } = await server.newCluster('eu');
  const hash = hashToken(await server.newRegistrationToken(id));
  const at = recording.requests[0]?.at ?? '';
  server.clock.advance(Date.parse(at) - server.clock.now().getTime());
  await server.store.write(async (trx) => {
    await trx.deleteFrom('registration_tokens').where('token_hash', '!=', hash).execute();
    const tokens = await trx.selectFrom('registration_tokens').selectAll().execute();
    await trx.deleteFrom('registration_tokens').execute();
    await trx.updateTable('clusters').set({ id: recording.clusterId }).where('id', '=', id).execute();
    for (const token of tokens) {
      const known = { ...token, cluster_id: recording.clusterId, token_hash: hashToken(recording.registrationToken) };
      await trx
        .insertInto('registration_tokens')
        .values({ ...known, expires_at: '2027-01-01T00:00:00.000Z' })
        .execute();
    }
  });
  return server;
}

/** The credential that the recorded registration gave. */
async function giveItsCredential(server: AgentServer): Promise<void> {
  await server.store.write(async (trx) => {
    await insertAgentCredential(trx, {
      id: 'cred-recorded',
      cluster_id: recording.clusterId,
      token_hash: hashToken(recording.token),
      issued_at: '2026-11-28T00:00:00.000Z',
      rotate_after: '2027-01-01T00:00:00.000Z',
      expires_at: '2027-01-01T00:00:00.000Z',
    });
  });
}

async function send(server: AgentServer, request: RecordedRequest): Promise<Answer> {
  const behind = Date.parse(request.at) - server.clock.now().getTime();
  if (behind > 0) server.clock.advance(behind);
  const { method, path, headers, body } = request;
  return await server.call({
    method,
    url: path,
    headers: { ...headers },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
}

function first(path: string): RecordedRequest {
  const found = recording.requests.find((request) => request.path.startsWith(path));
  if (found === undefined) throw new Error(`nothing was recorded for ${path}`);
  return found;
}

describe('an operator of version 0.1.0', () => {
  it('registers, and can read the answer', async () => {
    await using server = await serverThatKnowsIt();
    const answer = await send(server, first('/api/agent/register'));
    expect([answer.status, answer.headers['content-type']]).toEqual([200, MEDIA_TYPE]);
    expect([...Value.Errors(recording.answers.register, answer.body)]).toEqual([]);
    expect(answer.body).toMatchObject({ cluster_id: recording.clusterId });
    expect(answer.headers['service-config-revision']).toMatch(/^\d+$/);
  });

  it('can read its configuration, with what it does not know of in it', async () => {
    await using server = await serverThatKnowsIt();
    await giveItsCredential(server);
    await server.store.write(async (trx) => {
      await trx.updateTable('clusters').set({ desired_operator_version: '0.2.0' }).execute();
    });
    const answer = await send(server, first('/api/agent/config'));
    expect([answer.status, answer.headers['content-type'], answer.headers['etag']]).toEqual([200, MEDIA_TYPE, '"1"']);
    expect([...Value.Errors(recording.answers.config, answer.body)]).toEqual([]);
    expect(answer.body).toMatchObject({ operator: { desired_version: '0.2.0' } });
  });

  it('is held until its wait is over, or something changes', async () => {
    await using server = await serverThatKnowsIt();
    await giveItsCredential(server);
    const conditional = recording.requests.find(({ headers }) => headers['if-none-match'] !== undefined);
    if (conditional === undefined) throw new Error('no held request was recorded');
    const held = send(server, { ...conditional, headers: { ...conditional.headers, 'if-none-match': '"1"' } });
    await expect.poll(() => server.clock.sleeping, { interval: 1 }).toBe(1);
    server.clock.advance(30_000);
    expect(await held).toMatchObject({ status: 304, headers: { etag: '"1"' } });
    expect((await send(server, conditional)).status).toBe(200);
  });

  it('is heard in all that it tells, its signatures included, each time it tells it', async () => {
    await using server = await serverThatKnowsIt();
    await giveItsCredential(server);
    for (let time = 0; time < 2; time += 1) {
      for (const post of posts) expect((await send(server, post)).status).toBe(post.status);
    }
    const sent = posts.flatMap(({ body }) => body?.events ?? []);
    const kinds = sent.map(({ kind, resourceRef }) => `${String(kind)} ${(resourceRef as { kind: string }).kind}`);
    expect([...new Set(kinds)].sort()).toEqual([
      'ClusterHeartbeat Cluster',
      'ConditionTransition ApplicationInstance',
      'ConditionTransition Cluster',
      'ConditionTransition Operation',
    ]);
    const rows = await server.store.db.selectFrom('events').select(['event_key', 'sequence']).execute();
    expect(new Set(rows.map(({ event_key: key }) => key))).toEqual(new Set(sent.map(({ eventKey }) => eventKey)));
    const cluster = await server.store.db.selectFrom('clusters').selectAll().executeTakeFirst();
    expect(cluster?.operator_version).toBe('0.1.0');
  });

  it('is refused what it may not do, by a code that it knows', async () => {
    await using server = await serverThatKnowsIt();
    const answer = await send(server, first('/api/agent/config'));
    expect([answer.status, answer.headers['content-type']]).toEqual([401, MEDIA_TYPE]);
    expect(answer.body).toMatchObject({ error: 'invalid_token', message: expect.any(String) });
  });

  it('is served by a control plane that it is too old for', async () => {
    await using server = await serverThatKnowsIt('0.9.0');
    await giveItsCredential(server);
    for (const post of posts) expect((await send(server, post)).status).toBe(204);
    const told = await server.store.db.selectFrom('audit').selectAll().where('kind', '=', 'OperatorTooOld').execute();
    expect(told).toHaveLength(1);
  });
});
