import { expect, onTestFinished, test, vi } from 'vitest';
import { githubShape } from '../../support/git-hosts/github-shape.ts';
import { HostedStage } from './hosted-stage.ts';

test.each(['it waits again', 'it is withdrawn'] as const)(
  'the host merges nothing that lost its approvals while another one was being merged: %s',
  async (how) => {
    const stage = await HostedStage.start(githubShape);
    onTestFinished(async () => await stage[Symbol.asyncDispose]());
    const { fake, clock, plane } = stage;
    const [a, b] = [await stage.propose({ name: 'a' }), await stage.propose({ name: 'b' })];
    fake.blocked = 'Required status check "test" is expected.';
    for (const { id, intentId } of [a, b] as { id: string; intentId: string }[]) {
      await stage.act(id, 'approve');
      await stage.until(intentId, (now) => now['state'] === 'merging' && now['closeReason'] !== undefined);
    }
    await stage.quiet();
    fake.blocked = undefined;
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const others: string[] = [];
    fake.intercept = async ({ method, path }) => {
      if (method !== 'PUT' || !path.endsWith('/merge')) return undefined;
      if (path.endsWith(`/${a['hostNumber']}/merge`)) {
        asked.resolve();
        await held.promise;
      } else others.push(path);
      return undefined;
    };
    clock.skip(4 * 60_000);
    await asked.promise;
    const more = { git: { requiredApprovals: { count: 2 } } };
    expect((await plane.call('PATCH', '/clusters/prod-eu', more)).status).toBe(200);
    clock.skip(31_000);
    await stage.untilState(b['intentId'], 'open');
    if (how === 'it is withdrawn') await plane.call('POST', `/proposals/${b['id']}/supersede`, {});
    held.resolve();
    await stage.untilState(a['intentId'], 'merged');
    if (how === 'it is withdrawn') await stage.settled();
    else await vi.waitFor(async () => await stage.quiet(), 30_000);
    expect(others).toEqual([]);
    expect((await stage.proposalOf(b['intentId']))['state']).toBe(how === 'it is withdrawn' ? 'superseded' : 'open');
  },
  60_000,
);
