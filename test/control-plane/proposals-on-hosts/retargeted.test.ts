import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FakeGitHost } from '../../support/git-hosts/fake-host.ts';
import { HOSTS } from '../../delivery/proposal-hosts/host-api.ts';
import { HostedStage, POLL_MS } from './hosted-stage.ts';

describe.each(HOSTS)('a request on $shape.kind that somebody points at another branch', ({ shape }) => {
  let stage: HostedStage;
  let fake: FakeGitHost;

  beforeAll(async () => {
    stage = await HostedStage.start(shape);
    fake = stage.fake;
    const { hostNumber, intentId } = await stage.propose({ name: 'first' });
    await fake.mergeOnHost(hostNumber, 'squash');
    await stage.tell(hostNumber, 'merged');
    await stage.untilState(intentId, 'merged');
    await fake.repository.branch('release', 'main');
  }, 90_000);
  afterAll(async () => await stage[Symbol.asyncDispose]());

  const file = (name: string): string => `clusters/prod-eu/apps/shop/${name}.yaml`;
  const isOnRelease = async (name: string): Promise<boolean> =>
    await fake.repository.read('release', file(name)).then(
      () => true,
      () => false,
    );

  test('is not merged for an approval, and is again once it is put back', async () => {
    const { id, intentId, hostNumber } = await stage.propose({ name: 'aside' });
    await stage.quiet();
    fake.retargetOnHost(hostNumber, 'release');
    expect((await stage.act(id, 'approve')).status).toBe(200);
    const shown = await stage.until(intentId, (now) => now['closeReason'] !== undefined);
    expect(shown).toMatchObject({ state: 'merging', closeReason: expect.stringContaining('into release') });
    expect(fake.request(hostNumber).state).toBe('open');
    expect(await isOnRelease('aside')).toBe(false);
    fake.retargetOnHost(hostNumber, 'main');
    stage.clock.skip(3 * 60_000);
    expect((await stage.untilState(intentId, 'merged'))['closeReason']).toBeUndefined();
    expect(await isOnRelease('aside')).toBe(false);
  });

  test('is shown by the list of requests, and no longer once it is put back', async () => {
    const { intentId, hostNumber } = await stage.propose({ name: 'shown' });
    await stage.quiet();
    fake.retargetOnHost(hostNumber, 'release');
    const shown = await stage.until(intentId, (now) => now['closeReason'] !== undefined, POLL_MS);
    expect(shown).toMatchObject({ state: 'open', closeReason: expect.stringContaining('into release') });
    fake.retargetOnHost(hostNumber, 'main');
    await stage.until(intentId, (now) => now['closeReason'] === undefined, POLL_MS);
  });

  test('merged there into that branch it has failed at once, and says where it went', async () => {
    const { intentId, hostNumber } = await stage.propose({ name: 'astray' });
    fake.retargetOnHost(hostNumber, 'release');
    await fake.mergeOnHost(hostNumber, 'squash', 'mona');
    await stage.tell(hostNumber, 'merged');
    const failed = await stage.untilState(intentId, 'failed');
    expect(failed['closeReason']).toMatch(/^merged on Git\w+ by mona into release, and not into main/);
    expect((await stage.plane.until(intentId, 'failed'))['receipt']).toBeUndefined();
  });

  test('of a fork with a branch of the same name is not taken for ours', async () => {
    fake.intercept = async ({ method, path, body }) => {
      if (method === 'POST' && /(pulls|merge_requests)$/.test(path) && !fake.requests.some(({ fork }) => fork)) {
        const branch = String(body['head'] ?? body['source_branch']);
        await fake.add({ title: "A stranger's", body: 'please', branch, base: 'main', fork: 'mallory' });
        return { status: 502 };
      }
      return undefined;
    };
    const { id: intentId } = await stage.ask({ name: 'forked' });
    const proposal = await stage.until(intentId, (now) => now['hostNumber'] !== undefined, 31_000);
    fake.intercept = undefined;
    const [theirs] = fake.requests.filter(({ fork }) => fork === 'mallory');
    expect(proposal['hostNumber']).not.toBe(theirs?.number);
    expect(fake.request(proposal['hostNumber']).fork).toBeUndefined();
    expect(theirs).toMatchObject({ title: "A stranger's", body: 'please', comments: [], state: 'open' });
  });
});
