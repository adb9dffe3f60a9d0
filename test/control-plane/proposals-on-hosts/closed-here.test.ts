import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiAnswer, ApiRequest, FakeGitHost } from '../../support/git-hosts/fake-host.ts';
import { HOSTS } from '../../delivery/proposal-hosts/host-api.ts';
import type { Answer } from '../running-control-plane.ts';
import { HostedStage, POLL_MS } from './hosted-stage.ts';

/** The credential may read, and no longer write. */
const readOnly = ({ method }: ApiRequest): ApiAnswer | undefined =>
  method === 'GET' ? undefined : { status: 403, body: { message: 'Resource not accessible by personal access token' } };

describe.each(HOSTS)('closed here and merged on $shape.kind all the same', ({ shape }) => {
  let stage: HostedStage;
  let fake: FakeGitHost;

  beforeAll(async () => {
    stage = await HostedStage.start(shape);
    fake = stage.fake;
  }, 90_000);
  afterAll(async () => await stage[Symbol.asyncDispose]());

  /** What the branch holds is merged, whatever was said of it before: proposal, intent and audit say so. */
  async function expectMerged(intentId: string, commit: string): Promise<void> {
    const merged = await stage.until(intentId, ({ state }) => state === 'merged', 31_000);
    expect(merged['mergedCommit']).toBe(commit);
    const intent = await stage.plane.until(intentId, 'delivered');
    expect(intent['receipt'].commit).toBe(commit);
    expect(intent['reason']).toBeUndefined();
    const audited = stage.plane.query(
      `SELECT kind FROM audit WHERE kind = 'ProposalMerged' AND summary LIKE '%${String(merged['id'])}%'`,
    );
    expect(audited).toHaveLength(1);
  }

  test.each(['reject', 'supersede'] as const)(
    'a %s while the host takes no writes, then a merge there',
    async (act) => {
      const { id, intentId, hostNumber } = await stage.propose({ name: `late-${act}` });
      await stage.quiet();
      fake.intercept = readOnly;
      expect((await stage.act(id, act)).status).toBe(200);
      await stage.quiet();
      const commit = await fake.mergeOnHost(hostNumber, 'squash', 'mona');
      fake.intercept = undefined;
      await expectMerged(String(intentId), commit);
    },
    30_000,
  );

  test('closed there, reopened and merged before its branch was gone, without a webhook', async () => {
    const { intentId, hostNumber } = await stage.propose({ name: 'to-and-fro' });
    await fake.closeOnHost(hostNumber, 'mona');
    stage.clock.skip(5 * POLL_MS);
    await stage.untilState(intentId, 'rejected');
    await stage.settled();
    fake.reopenOnHost(hostNumber);
    const commit = await fake.mergeOnHost(hostNumber, 'squash', 'mona');
    await expectMerged(String(intentId), commit);
    expect(fake.request(hostNumber).comments).toEqual([]);
  }, 90_000);

  test('one that was overtaken meanwhile is merged, and its intent stays superseded by what came after', async () => {
    const older = await stage.propose({ name: 'overtaken' });
    await stage.quiet();
    fake.intercept = readOnly;
    expect((await stage.act(older['id'], 'reject')).status).toBe(200);
    await stage.quiet();
    await fake.mergeOnHost(older['hostNumber'], 'squash', 'mona');
    const { id: newer } = await stage.ask({ name: 'overtaken', chartVersion: '6.6.1' });
    fake.intercept = undefined;
    const isOnTop = (now: Answer['body']): boolean =>
      now['blobs'].some(
        ({ path, before }: Answer['body']) => path === 'apps/shop/overtaken.yaml' && before !== undefined,
      );
    const proposed = await stage.until(newer, (now) => now['hostNumber'] !== undefined && isOnTop(now), 31_000);
    await stage.quiet();
    await fake.mergeOnHost(proposed['hostNumber'], 'squash', 'mona');
    await stage.until(newer, ({ state }) => state === 'merged', 31_000);
    await stage.until(String(older['intentId']), ({ state }) => state === 'merged', 31_000);
    const { body } = await stage.plane.call('GET', `/intents/${String(older['intentId'])}`);
    expect(body['state']).toBe('superseded');
    await stage.plane.until(newer, 'delivered');
  }, 90_000);
});
