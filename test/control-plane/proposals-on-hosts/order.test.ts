import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { HOSTS } from '../../delivery/proposal-hosts/host-api.ts';
import type { HostKindShape } from '../../support/git-hosts/fake-host.ts';
import { HostedStage } from './hosted-stage.ts';

const FILE = 'clusters/prod-eu/apps/shop/podinfo.yaml';
const TIMEOUT = 60_000;

describe.each(HOSTS)('on $shape.kind, in whichever order it happens', ({ shape }) => {
  async function start(git: Record<string, unknown> = {}, kind: HostKindShape = shape): Promise<HostedStage> {
    const stage = await HostedStage.start(kind, git);
    onTestFinished(async () => await stage[Symbol.asyncDispose]());
    return stage;
  }

  test(
    'a merge that the branch does not show yet is waited for, and counts as another one only after ten minutes',
    async () => {
      const stage = await start();
      const { intentId, hostNumber } = await stage.propose();
      Object.assign(stage.fake.request(hostNumber), { state: 'merged', mergeCommit: 'f'.repeat(40) });
      const before = stage.fake.calls.length;
      await stage.tell(hostNumber, 'merged');
      await vi.waitFor(() => expect(stage.fake.calls.length).toBeGreaterThan(before), { timeout: 10_000 });
      await stage.quiet();
      expect((await stage.proposalOf(intentId))['state']).toBe('open');
      const failed = await stage.until(intentId, (now) => now['state'] === 'failed', 120_000);
      expect(failed['closeReason']).toContain('as something else than what was proposed');
    },
    TIMEOUT,
  );

  test(
    'a merge that the branch shows late is delivered',
    async () => {
      const stage = await start();
      const { intentId, hostNumber, branch } = await stage.propose();
      const { repository } = stage.fake;
      // Made where nobody sees it yet.
      await repository.branch('elsewhere', 'main');
      const commit = await repository.merge(branch, 'elsewhere', 'squash', 'late');
      Object.assign(stage.fake.request(hostNumber), { state: 'merged', mergeCommit: commit });
      await stage.tell(hostNumber, 'merged');
      await stage.quiet();
      await repository.branch('main', 'elsewhere');
      const merged = await stage.until(intentId, (now) => now['state'] === 'merged', 31_000);
      expect(merged['mergedCommit']).toBe(commit);
    },
    TIMEOUT,
  );

  test(
    'what was merged as it was proposed is delivered although the branch has gone on since',
    async () => {
      const stage = await start();
      const { intentId, hostNumber } = await stage.propose();
      await stage.plane.stop();
      const commit = await stage.fake.mergeOnHost(hostNumber, 'squash');
      await stage.fake.repository.write('main', { [FILE]: 'kind: Later\n' }, 'Later, by hand');
      await stage.plane.startAgain();
      const merged = await stage.untilState(intentId, 'merged');
      expect(merged['mergedCommit']).toBe(commit);
    },
    TIMEOUT,
  );

  test(
    'approvals that are given before the request is open lead to a merge by the host, not past it',
    async () => {
      const stage = await start();
      stage.fake.intercept = () => ({ status: 503 });
      const { id } = await stage.ask();
      const proposal = await stage.untilState(id, 'open');
      expect((await stage.act(proposal['id'], 'approve')).status).toBe(200);
      await stage.quiet();
      expect((await stage.proposalOf(id))['state']).toBe('open');
      stage.fake.intercept = undefined;
      await stage.until(id, (now) => now['state'] === 'merged', 31_000);
      expect(stage.fake.request(1)).toMatchObject({ state: 'merged', closedBy: 'service' });
    },
    TIMEOUT,
  );

  test(
    'a head that somebody pushed is shown, and never merged for what was approved',
    async () => {
      const stage = await start();
      const { id, intentId, hostNumber, branch } = await stage.propose();
      await stage.fake.repository.write(branch, { [FILE]: 'kind: Other\n' }, 'A better idea');
      await stage.tell(hostNumber, 'opened');
      const shown = await stage.until(intentId, (now) => now['closeReason'] !== undefined);
      expect(shown['closeReason']).toContain('somebody pushed to its branch');
      await stage.act(id, 'approve');
      const waiting = await stage.until(
        intentId,
        (now) => now['state'] === 'merging' && now['closeReason'] !== undefined,
      );
      expect(waiting['closeReason']).toMatch(/409|head/);
      expect(stage.fake.request(hostNumber).state).toBe('open');
      await stage.fake.closeOnHost(hostNumber);
      await stage.tell(hostNumber, 'closed');
      expect(await stage.untilState(intentId, 'rejected')).toMatchObject({ hostNumber });
    },
    TIMEOUT,
  );
});
