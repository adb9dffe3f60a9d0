import { expect, onTestFinished, test } from 'vitest';
import { FakeGitHost, TOKEN } from '../../support/git-hosts/fake-host.ts';
import { githubShape } from '../../support/git-hosts/github-shape.ts';
import { HostedStage } from '../proposals-on-hosts/hosted-stage.ts';
import type { Answer } from '../running-control-plane.ts';

const TIMEOUT = 60_000;
const write = { kind: 'token', token: TOKEN };

async function start(): Promise<HostedStage> {
  const stage = await HostedStage.start(githubShape);
  onTestFinished(async () => await stage[Symbol.asyncDispose]());
  return stage;
}

/** Another host with everything that the first one has, as `git push --mirror` brings it. */
async function mirrorOf({ fake }: HostedStage): Promise<FakeGitHost> {
  const other = await FakeGitHost.start(githubShape);
  onTestFinished(async () => await other[Symbol.asyncDispose]());
  await other.repository.copyFrom(fake.repository);
  return other;
}

async function put({ plane, fake }: HostedStage, changes: Record<string, unknown>): Promise<Answer> {
  const body = { host: 'github', url: fake.cloneUrl, apiUrl: fake.apiUrl, write, read: write, ...changes };
  return await plane.call('PUT', '/repositories/hosted', body);
}

test(
  'a repository is not pointed elsewhere while a proposal in it is not decided, and the refusal names it',
  async () => {
    const stage = await start();
    const { id, intentId } = await stage.propose();
    for (const changes of [
      { url: stage.fake.cloneUrl.replace('fleet', 'other') },
      { apiUrl: `${stage.fake.url}/elsewhere` },
      { branch: 'release' },
      { host: 'git', apiUrl: undefined },
    ]) {
      expect(await put(stage, changes)).toMatchObject({
        status: 409,
        body: { error: 'conflict', message: expect.stringContaining(`not decided (${String(id)})`) },
      });
    }
    // The same repository, written otherwise, with another credential.
    expect((await put(stage, { url: stage.fake.cloneUrl.replace(/\.git$/, '') })).status).toBe(200);
    expect((await put(stage, {})).status).toBe(200);
    await stage.act(id, 'approve');
    await stage.untilState(intentId, 'merged');
  },
  TIMEOUT,
);

test(
  "after it was moved nothing is said to or asked of requests that have old ones' numbers, and deliveries go on",
  async () => {
    const stage = await start();
    const merged = await stage.propose({ name: 'merged' });
    await stage.act(merged['id'], 'approve');
    await stage.untilState(merged['intentId'], 'merged');
    const rejected = await stage.propose({ name: 'rejected' });
    await stage.act(rejected['id'], 'reject');
    await stage.settled();
    await stage.quiet();
    const other = await mirrorOf(stage);
    for (const branch of ['theirs-1', 'theirs-2']) {
      await other.repository.branch(branch, 'main');
      await other.add({ title: 'Theirs', body: '', branch, base: 'main' });
    }
    expect((await put(stage, { url: other.cloneUrl, apiUrl: other.apiUrl })).status).toBe(200);
    expect(await stage.proposalOf(rejected['intentId'])).toMatchObject({ hostUrl: rejected['hostUrl'] });
    expect((await stage.proposalOf(rejected['intentId']))['hostNumber']).toBeUndefined();
    const update = await stage.propose({ action: 'update', name: 'merged', chartVersion: '6.6.1' });
    expect(update['hostNumber']).toBe(3);
    await stage.act(update['id'], 'approve');
    await stage.untilState(update['intentId'], 'merged');
    await stage.plane.until(String(update['intentId']), 'delivered');
    stage.clock.skip(20 * 60_000);
    await stage.settled();
    expect(other.requests.slice(0, 2)).toMatchObject([
      { state: 'open', comments: [] },
      { state: 'open', comments: [] },
    ]);
    expect(other.calls.filter(({ path }) => /\/(pulls|issues)\/[12]\b/.test(path))).toEqual([]);
  },
  TIMEOUT,
);

test(
  'a token for the API that the host refuses is not taken, and the one before it goes on',
  async () => {
    const stage = await start();
    const wrong = { api: { kind: 'token', token: 'a-token-nobody-knows' } };
    const refused = await stage.plane.call('PUT', '/repositories/hosted/credentials', wrong);
    expect(refused).toMatchObject({
      status: 400,
      body: {
        faults: [
          { path: '/api', message: expect.stringMatching(/^was not taken, and the one before it is kept: .* 401/) },
        ],
      },
    });
    const { body } = await stage.plane.call('GET', '/repositories/hosted');
    expect(body['credentials'].api).toBeUndefined();
    expect(body['probe'].state).toBe('ready');
    expect((await stage.propose())['hostNumber']).toBe(1);
  },
  TIMEOUT,
);
