import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newPostgresDatabase } from '../../support/postgres/new-database.ts';
import { RunningControlPlane } from '../running-control-plane.ts';
import { Follower } from './follow.ts';

/** Two replicas over one PostgreSQL, and a token that both take. */
async function twoReplicas() {
  const url = await newPostgresDatabase();
  const first = await RunningControlPlane.start(undefined, { SERVICE_DATABASE_URL: url });
  onTestFinished(async () => await first[Symbol.asyncDispose]());
  const made = await first.call('POST', '/admin-tokens', { name: 'both', expiresInSeconds: 600 });
  const second = await RunningControlPlane.start(undefined, {
    SERVICE_DATABASE_URL: url,
    SERVICE_MASTER_KEY_FILE: join(first.folder, 'master.key'),
  });
  onTestFinished(async () => await second[Symbol.asyncDispose]());
  const token = String(made.body['token']);
  return { first, second, token };
}

const CLUSTER = {
  slug: 'prod-eu',
  displayName: 'prod-eu',
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: [],
  allowedOperationTemplates: [],
  connectivityMode: 'pull',
};

test('one replica tells of what another does, goes on where that left off, and ends what was taken back there', async () => {
  const { first, second, token } = await twoReplicas();
  await using follower = await Follower.open(first, '?resource=clusters', { token });
  expect(await follower.next()).toMatchObject({ event: 'comment' });
  const made = await second.call('POST', '/clusters', CLUSTER, { token });
  const id = made.body['cluster'].id;
  const [told] = await follower.changes(1);
  expect(told).toMatchObject({ data: { resource: 'clusters', id } });
  await second.call('PATCH', '/clusters/prod-eu', { displayName: 'renamed' }, { token });
  await using other = await Follower.open(second, `?resource=clusters&after=${told?.id}`, { token });
  expect((await other.changes(1))[0]).toMatchObject({ data: { resource: 'clusters', id } });
  expect((await second.call('DELETE', '/admin-tokens/both')).status).toBe(204);
  while ((await follower.next()) !== undefined);
  while ((await other.next()) !== undefined);
}, 40_000);

test('a key that comes to two replicas at once is carried out once', async () => {
  const { first, second, token } = await twoReplicas();
  const options = { token, headers: { 'idempotency-key': 'at-once' } };
  const answers = await Promise.all(
    [first, second, first, second].map(async (plane) => await plane.call('POST', '/clusters', CLUSTER, options)),
  );
  const isFirst = answers.filter(({ status, headers }) => status === 201 && !headers.has('idempotent-replayed'));
  expect(isFirst).toHaveLength(1);
  for (const { status } of answers) expect([201, 409]).toContain(status);
  for (const plane of [first, second]) {
    const again = await plane.call('POST', '/clusters', CLUSTER, options);
    expect(again).toMatchObject({ status: 201, body: isFirst[0]?.body });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  }
  expect(first.query("SELECT id FROM audit WHERE kind = 'ClusterCreated'")).toHaveLength(1);
}, 40_000);
