import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);

interface Commit {
  readonly id: string;
  readonly kind: string;
  readonly subject: string;
  readonly clusterSlug?: string;
  readonly intent?: { readonly id: string };
  readonly author: { readonly name: string };
}
interface Line {
  readonly commit: string;
  readonly text: string;
}

let plane: RunningControlPlane;
let intents: string[] = [];

async function intent(cluster: string, body: Record<string, unknown>): Promise<string> {
  const answer = await plane.call('POST', `/clusters/${cluster}/intents`, body);
  if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
  const id = String(answer.body['id']);
  await plane.until(id, 'delivered');
  return id;
}

const get = async (path: string) => await plane.call('GET', `/repositories/fleet${path}`);

/** A person's commit on the bare repository: it quotes an intent that is another cluster's. */
async function editByHand(): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'by-hand-'));
  const file = join(work, 'clusters/prod-us/apps/shop/podinfo.yaml');
  const git = async (...args: string[]) =>
    await run('git', ['-c', 'user.name=Eve', '-c', 'user.email=eve@example.com', '-C', work, ...args]);
  try {
    await run('git', ['clone', '--quiet', join(plane.folder, 'git', 'fleet.git'), work]);
    writeFileSync(file, `# by hand\n${(await run('cat', [file])).stdout}`);
    await git('commit', '-qam', 'Edit by hand', '-m', `Intent-Id: ${intents[0] ?? ''}`);
    await git('push', '--quiet', 'origin', 'HEAD:main');
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  const eu = await plane.newCluster('prod-eu');
  const us = await plane.newCluster('prod-us');
  intents = [
    await intent(eu, { ...INSTALL, reason: 'the first one' }),
    await intent(us, INSTALL),
    await intent(eu, {
      action: 'update',
      namespace: 'shop',
      name: 'podinfo',
      chartVersion: '6.6.1',
      values: { replicaCount: 3 },
    }),
  ];
  await editByHand();
});

afterAll(async () => {
  await plane[Symbol.asyncDispose]();
});

describe('GET /repositories/{name}/commits', () => {
  it('tells every commit, the newest first, with its intent, and a forged trailer for what it is', async () => {
    const { body } = await get('/commits');
    expect(
      body['items'].map(({ kind, subject, clusterSlug, intent: of, author }: Commit) => [
        kind,
        subject,
        clusterSlug,
        of?.id,
        author.name,
      ]),
    ).toEqual([
      ['other', 'Edit by hand', undefined, undefined, 'Eve'],
      ['intent', 'prod-eu: update shop/podinfo 6.5.0 → 6.6.1', 'prod-eu', intents[2], 'service-control-plane'],
      ['intent', 'prod-us: install shop/podinfo 6.5.0', 'prod-us', intents[1], 'service-control-plane'],
      ['intent', 'prod-eu: install shop/podinfo 6.5.0', 'prod-eu', intents[0], 'service-control-plane'],
      ['other', 'Start the repository', undefined, undefined, 'Control plane'],
    ]);
    expect(body['items'][3]).toMatchObject({
      body: 'the first one',
      trailers: { 'Intent-Id': intents[0], 'Requested-By': expect.any(String) },
      intent: { state: 'superseded', requestReason: 'the first one' },
    });
  });

  it('comes in pages of one history, though the branch goes on, and only of what is asked for', async () => {
    const ids = (await get('/commits?cluster=prod-eu')).body['items'].map(({ id }: { id: string }) => id);
    expect(ids).toHaveLength(2);
    const first = await get('/commits?limit=2');
    await intent('prod-us', { ...INSTALL, name: 'later' });
    const second = await get(`/commits?limit=2&cursor=${first.body['nextCursor']}`);
    expect(second.body['items'].map(({ intent: of }: Commit) => of?.id)).toEqual([intents[1], intents[0]]);
    const third = await get(`/commits?limit=2&cursor=${second.body['nextCursor']}`);
    expect([third.body['items'].length, third.body['nextCursor']]).toEqual([1, undefined]);
    const object = await get('/commits?cluster=prod-us&namespace=shop&objectName=later');
    expect(object.body['items'].map(({ subject }: { subject: string }) => subject)).toEqual([
      'prod-us: install shop/later 6.5.0',
    ]);
    expect((await get('/commits?cluster=prod-us&namespace=blog')).body['items']).toEqual([]);
  });

  it.each([
    ['namespace=shop', '/cluster'],
    ['cluster=prod-eu&objectName=podinfo', '/namespace'],
    ['cluster=prod-eu&namespace=..', '/namespace'],
    ['cursor=WyJhIiwxXQ', '/cursor'],
    [`cursor=${Buffer.from(JSON.stringify(['a'.repeat(40), 1])).toString('base64url')}`, '/cursor'],
  ])('refuses %s with the path of what is wrong', async (query, path) => {
    const { status, body } = await get(`/commits?${query}`);
    expect([status, body['faults'].map((fault: { path: string }) => fault.path)]).toEqual([400, [path]]);
  });
});

describe('one commit', () => {
  it('leads to what it changed, its intent, person, reason, receipt, signature, jobs and status, and back', async () => {
    const { body: told } = await plane.call('GET', `/intents/${intents[2] ?? ''}`);
    const { body } = await get(`/commits/${String(told['receipt'].commit).slice(0, 10)}`);
    expect(body).toMatchObject({
      id: told['receipt'].commit,
      kind: 'intent',
      intent: { id: intents[2], receipt: { commit: told['receipt'].commit }, requestedBy: expect.any(String) },
      jobs: [],
      status: [],
      signature: { state: 'trusted' },
      truncated: false,
      files: [{ path: 'clusters/prod-eu/apps/shop/podinfo.yaml', status: 'modified' }],
    });
    expect(body['files'][0].patch).toContain('+    replicaCount: 3');
    expect(told['receipt'].link).toBe(`/api/v1/repositories/fleet/commits/${body['id']}`);
    expect((await get(told['receipt'].link.replace('/api/v1/repositories/fleet', ''))).status).toBe(200);
  });

  it('that a person made is told as one, not signed; an id that nothing has is 404', async () => {
    const [edit] = (await get('/commits?cluster=prod-us&namespace=shop&objectName=podinfo')).body['items'];
    const { body } = await get(`/commits/${edit.id}`);
    expect([body['kind'], body['intent'], body['signature'].state]).toEqual(['other', undefined, 'refused']);
    expect((await get(`/commits/${'0'.repeat(40)}`)).status).toBe(404);
    for (const name of ['HEAD', 'main']) expect((await get(`/commits/${name}`)).body['id']).toMatch(/^[0-9a-f]{40}$/);
    for (const name of ['HEAD~1', 'nosuch', '--all', 'abcdef']) {
      const { status, body } = await get(`/commits/${encodeURIComponent(name)}`);
      expect([status, body['message']]).toEqual([
        400,
        '/commit: must be a commit id, its first 7 characters or more, HEAD or main',
      ]);
    }
    expect((await plane.call('GET', '/repositories/none/commits')).status).toBe(404);
  });

  it('is compared with another', async () => {
    const items = (await get('/commits?cluster=prod-eu')).body['items'];
    const { body } = await get(`/diff?from=${items[1].id}&to=${items[0].id}&cluster=prod-eu`);
    expect(body['files'].map(({ path, status }: Record<string, string>) => [path, status])).toEqual([
      ['clusters/prod-eu/apps/shop/podinfo.yaml', 'modified'],
    ]);
  });
});

describe('GET /repositories/{name}/blame', () => {
  it('names for each line its commit, across a move of the layout', async () => {
    const blame = async () => await get('/blame?cluster=prod-eu&namespace=shop&name=podinfo');
    const of = (body: Awaited<ReturnType<typeof blame>>['body']): Line[] =>
      body['lines'].map(({ commit, text }: Line) => ({ commit, text }));
    const before = await blame();
    const commits = new Map(before.body['commits'].map((commit: Commit) => [commit.id, commit.intent?.id]));
    const wrote = (text: string): unknown =>
      commits.get(before.body['lines'].find((line: Line) => line.text.includes(text)).commit);
    expect([wrote('kind: ApplicationInstance'), wrote('replicaCount: 3')]).toEqual([intents[0], intents[2]]);
    expect((await plane.call('POST', '/repositories/fleet/layout', { layout: 'sharded' })).body['state']).toBe('moved');
    const after = await blame();
    expect(of(after.body)).toEqual(of(before.body));
    expect(after.body['path']).toBe('clusters/33/prod-eu/apps/shop/podinfo.yaml');
    const history = (await get('/commits?cluster=prod-eu')).body['items'];
    expect(history.map(({ kind }: { kind: string }) => kind)).toEqual(['layout-move', 'intent', 'intent']);
    expect((await get(`/commits/${history[0].id}`)).body['clusterSlug']).toBeUndefined();
    expect((await get('/blame?cluster=prod-eu&namespace=shop&name=none')).status).toBe(404);
  });
});
