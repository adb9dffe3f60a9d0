import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { FakeGitHost } from '../../support/git-hosts/fake-host.ts';
import { HOSTS } from '../../delivery/proposal-hosts/host-api.ts';
import type { Answer } from '../running-control-plane.ts';
import { HostedStage, POLL_MS } from './hosted-stage.ts';

describe.each(HOSTS)('proposals on $shape.kind', ({ shape }) => {
  let stage: HostedStage;
  let fake: FakeGitHost;

  beforeAll(async () => {
    stage = await HostedStage.start(shape);
    fake = stage.fake;
  }, 90_000);
  afterAll(async () => await stage[Symbol.asyncDispose]());

  const file = (name: string): string => `clusters/prod-eu/apps/shop/${name}.yaml`;

  test('opens one request for an intent, with who, why, and where more is', async () => {
    const proposal = await stage.propose({ name: 'opened', reason: 'closes #12 for @everyone' });
    const request = fake.request(Number(proposal['hostNumber']));
    expect(proposal).toMatchObject({ state: 'open', hostUrl: expect.stringContaining(fake.url) });
    expect(request).toMatchObject({ branch: proposal['branch'], base: 'main', title: proposal['title'] });
    expect(request.body).toContain('| closes #12 for @everyone');
    expect(request.body).toContain(`/#/proposals/${String(proposal['id'])}`);
    expect(fake.requests.filter(({ branch }) => branch === proposal['branch'])).toHaveLength(1);
  });

  test.each(['merge', 'squash', 'rebase'] as const)(
    'a %s on the host delivers the intent with the commit that the branch has',
    async (strategy) => {
      const { intentId, hostNumber } = await stage.propose({ name: `by-${strategy}` });
      const commit = await fake.mergeOnHost(hostNumber, strategy, 'mona');
      expect(await stage.tell(hostNumber, 'merged')).toBe(200);
      const merged = await stage.untilState(intentId, 'merged');
      const intent = await stage.plane.until(intentId, 'delivered');
      // A merge commit brings our own commit; the others make one of theirs.
      const own = strategy === 'merge' ? merged['headCommit'] : commit;
      expect([merged['mergedCommit'], intent['receipt'].commit]).toEqual([own, own]);
      expect(await fake.repository.read('main', file(`by-${strategy}`))).toContain(`name: by-${strategy}`);
    },
  );

  test('without any webhook a merge is noticed by the list of requests', async () => {
    const { intentId, hostNumber } = await stage.propose({ name: 'polled' });
    await fake.mergeOnHost(hostNumber, 'squash');
    stage.clock.skip(5 * POLL_MS);
    expect(await stage.untilState(intentId, 'merged')).toMatchObject({ hostNumber });
  });

  test('closed on the host it is rejected, with who did it', async () => {
    const { intentId, hostNumber } = await stage.propose({ name: 'closed' });
    await fake.closeOnHost(hostNumber, 'mona');
    await stage.tell(hostNumber, 'closed');
    const rejected = await stage.untilState(intentId, 'rejected');
    expect(rejected['closeReason']).toMatch(
      shape.kind === 'gitea' ? /^closed on Gitea$/ : /^closed on Git\w+ by mona$/,
    );
    expect((await stage.plane.until(intentId, 'failed'))['reason']).toContain('ProposalRejected: closed on');
  });

  test('reopened after that it is closed again, with the word what to do', async () => {
    const { intentId, hostNumber } = await stage.propose({ name: 'reopened' });
    await fake.closeOnHost(hostNumber);
    await stage.tell(hostNumber, 'closed');
    await stage.untilState(intentId, 'rejected');
    await stage.settled();
    fake.reopenOnHost(hostNumber);
    await stage.tell(hostNumber, 'reopened');
    await vi.waitFor(() => expect(fake.request(hostNumber).state).toBe('closed'), { timeout: 10_000 });
    expect(fake.request(hostNumber).comments.at(-1)).toContain('ask for the intent again');
  });

  test('changed by a reviewer and merged it has failed, and is not delivered', async () => {
    const { intentId, hostNumber, branch } = await stage.propose({ name: 'changed' });
    const text = await fake.repository.read(branch, file('changed'));
    await fake.repository.write(branch, { [file('changed')]: `${text}\n# a better idea\n` }, 'A better idea');
    await fake.mergeOnHost(hostNumber, 'squash', 'mona');
    await stage.tell(hostNumber, 'merged');
    const failed = await stage.untilState(intentId, 'failed');
    expect(failed['closeReason']).toContain('as something else than what was proposed');
    const intent = await stage.plane.until(intentId, 'failed');
    expect(intent['receipt']).toBeUndefined();
  });

  test('approved here it is merged by the host, at the head that was approved', async () => {
    const proposal = await stage.propose({ name: 'approved' });
    fake.strategy = 'squash';
    expect((await stage.act(proposal['id'], 'approve')).status).toBe(200);
    const merged = await stage.untilState(proposal['intentId'], 'merged');
    fake.strategy = 'merge';
    expect(fake.request(proposal['hostNumber'])).toMatchObject({ state: 'merged', closedBy: 'service' });
    expect(merged['mergedCommit']).toBe(fake.request(proposal['hostNumber']).mergeCommit);
    await stage.plane.until(proposal['intentId'], 'delivered');
  });

  test("what the host's rules still ask for is shown, and it is merged once they are met", async () => {
    const proposal = await stage.propose({ name: 'blocked' });
    fake.blocked = shape.kind === 'gitlab' ? 'ci_must_pass' : 'Required status check "test" is expected.';
    await stage.act(proposal['id'], 'approve');
    const { blocked } = fake;
    const waiting = await stage.until(proposal['intentId'], (now) => now['closeReason'] !== undefined);
    expect(waiting).toMatchObject({ state: 'merging', closeReason: expect.stringContaining(blocked) });
    fake.blocked = undefined;
    stage.clock.skip(3 * 60_000);
    await stage.untilState(proposal['intentId'], 'merged');
  });

  test('rejected here its request is closed with the reason, and then its branch deleted', async () => {
    const proposal = await stage.propose({ name: 'rejected' });
    await stage.act(proposal['id'], 'reject', { comment: 'not on a Friday' });
    const request = fake.request(proposal['hostNumber']);
    await vi.waitFor(() => expect(request.state).toBe('closed'), { timeout: 10_000 });
    expect(request.comments.join('\n')).toContain('| rejected by anna: not on a Friday');
    await vi.waitFor(async () => expect(await fake.repository.head(proposal['branch'])).toBeUndefined(), {
      timeout: 10_000,
    });
  });

  test('a newer intent of the object closes the older request', async () => {
    const older = await stage.propose({ name: 'newer' });
    const newer = await stage.propose({ name: 'newer', chartVersion: '6.6.1' });
    await vi.waitFor(() => expect(fake.request(older['hostNumber']).state).toBe('closed'), { timeout: 10_000 });
    expect(fake.request(older['hostNumber']).comments.join('\n')).toContain(
      `| a newer intent of the object, ${newer['intentId']}`,
    );
    expect((await stage.proposalOf(older['intentId']))['state']).toBe('superseded');
    expect(fake.request(newer['hostNumber']).state).toBe('open');
  });

  test('rendered again on a moved base it stays the same request, with a note', async () => {
    const { intentId, hostNumber, headCommit } = await stage.propose({ name: 'moved' });
    await fake.repository.write('main', { [file('moved')]: 'kind: ByHand\n' }, 'By hand');
    const isAgain = (now: Answer['body']): boolean => now['revision'] === 2 && now['blobs'].length > 0;
    const again = await stage.until(intentId, isAgain, 31_000);
    expect(again['headCommit']).not.toBe(headCommit);
    await vi.waitFor(() => expect(fake.request(hostNumber).comments.at(-1)).toContain('as revision 2'), {
      timeout: 10_000,
    });
    expect(fake.request(hostNumber)).toMatchObject({
      state: 'open',
      body: expect.stringContaining('rendered 2 times'),
    });
    expect(await fake.headOf(fake.request(hostNumber))).toBe(again['headCommit']);
  });

  test('a request that is gone from the host rejects the proposal', async () => {
    const { intentId, hostNumber } = await stage.propose({ name: 'gone' });
    const at = fake.requests.findIndex(({ number }) => number === hostNumber);
    const sent = await shape.webhook(fake, fake.request(hostNumber), 'closed', stage.webhookSecret);
    // Its number stays taken.
    Object.assign(fake.request(hostNumber), { number: 9000 + at });
    await fetch(stage.webhookUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...sent.headers },
      body: sent.body,
    });
    const rejected = await stage.untilState(intentId, 'rejected');
    expect(rejected['closeReason']).toContain(`its request ${hostNumber} is gone from`);
  });
});
