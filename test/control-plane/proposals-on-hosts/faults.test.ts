import { describe, expect, test, vi } from 'vitest';
import { githubShape } from '../../support/git-hosts/github-shape.ts';
import { HOSTS } from '../../delivery/proposal-hosts/host-api.ts';
import type { ApiRequest } from '../../support/git-hosts/fake-host.ts';
import { HostedStage, POLL_MS } from './hosted-stage.ts';

const TIMEOUT = 60_000;

describe('a host that limits requests', () => {
  test(
    'is asked nothing more until the time that it names, for none of its proposals',
    async () => {
      await using stage = await HostedStage.start(githubShape);
      stage.fake.intercept = () => ({ status: 429, headers: { 'retry-after': '120' }, body: { message: 'slow down' } });
      const before = stage.fake.calls.length;
      const first = await stage.ask({ name: 'first' });
      const second = await stage.ask({ name: 'second' });
      await stage.until(second.id, (proposal) => proposal['state'] === 'open');
      await vi.waitFor(() => expect(stage.fake.calls).toHaveLength(before + 1), { timeout: 10_000 });
      stage.clock.skip(100_000);
      await stage.quiet();
      expect(stage.fake.calls).toHaveLength(before + 1);
      stage.fake.intercept = undefined;
      for (const { id } of [first, second]) {
        await stage.until(id, (proposal) => proposal['hostNumber'] !== undefined, 31_000);
      }
    },
    TIMEOUT,
  );

  test(
    'with ten open proposals it is asked once in a minute',
    async () => {
      await using stage = await HostedStage.start(githubShape);
      const asked = await Promise.all(
        Array.from({ length: 10 }, async (_, at) => await stage.ask({ name: `app-${at}` })),
      );
      for (const { id } of asked) await stage.until(id, (proposal) => proposal['hostNumber'] !== undefined);
      await vi.waitFor(
        () => {
          stage.clock.skip(POLL_MS);
          expect(stage.fake.calls.at(-1)?.status).toBe(304);
        },
        { timeout: 20_000, interval: 300 },
      );
      await stage.quiet();
      const before = stage.fake.calls.length;
      for (let minute = 1; minute <= 3; minute += 1) {
        stage.clock.skip(POLL_MS);
        await vi.waitFor(() => expect(stage.fake.calls.length).toBe(before + minute), { timeout: 10_000 });
        await stage.quiet();
      }
      expect(stage.callsSince(before)).toEqual(Array.from({ length: 3 }, () => 'GET /repos/acme/fleet/pulls 304'));
    },
    TIMEOUT,
  );
});

describe.each(HOSTS)('$shape.kind with faults', ({ shape }) => {
  /** Lets a call have its effect and loses its answer, once. */
  function loseOne(stage: HostedStage, isIt: (request: ApiRequest) => boolean): () => boolean {
    let lost = false;
    stage.fake.intercept = async (request) => {
      if (lost || !isIt(request)) return undefined;
      lost = true;
      await shape.answer(stage.fake, request);
      return { status: 502, body: { message: 'bad gateway' } };
    };
    return () => lost;
  }

  test(
    'an answer that is lost while it opens one makes no second one, across a restart too',
    async () => {
      await using stage = await HostedStage.start(shape);
      const lost = loseOne(stage, ({ method, path }) => method === 'POST' && /(pulls|merge_requests)$/.test(path));
      const { id } = await stage.ask();
      await vi.waitFor(() => expect(lost()).toBe(true), { timeout: 10_000 });
      await stage.plane.restart();
      await stage.until(id, (proposal) => proposal['hostNumber'] === 1, 31_000);
      expect(stage.fake.requests).toHaveLength(1);
    },
    TIMEOUT,
  );

  test(
    'an answer that is lost while it merges is made good by what the branch has',
    async () => {
      await using stage = await HostedStage.start(shape);
      const proposal = await stage.propose();
      const lost = loseOne(stage, ({ path }) => path.endsWith('/merge'));
      await stage.act(proposal['id'], 'approve');
      await vi.waitFor(() => expect(lost()).toBe(true), { timeout: 10_000 });
      await stage.plane.restart();
      await stage.until(proposal['intentId'], (now) => now['state'] === 'merged', 31_000);
      await stage.plane.until(proposal['intentId'], 'delivered');
      // Merged once: the first commit, ours, and the merge.
      expect(await stage.fake.repository.subjects('main')).toHaveLength(3);
    },
    TIMEOUT,
  );

  test(
    'what happened while nobody was there is found at the next start',
    async () => {
      await using stage = await HostedStage.start(shape);
      const merged = await stage.propose({ name: 'merged' });
      const closed = await stage.propose({ name: 'closed' });
      await stage.plane.stop();
      await stage.fake.mergeOnHost(merged['hostNumber'], 'squash');
      await stage.fake.closeOnHost(closed['hostNumber']);
      await stage.plane.startAgain();
      expect(await stage.untilState(merged['intentId'], 'merged')).toMatchObject({ hostNumber: 1 });
      expect(await stage.untilState(closed['intentId'], 'rejected')).toMatchObject({ hostNumber: 2 });
    },
    TIMEOUT,
  );

  test(
    'an answer that is lost while it closes one closes it all the same',
    async () => {
      await using stage = await HostedStage.start(shape);
      const proposal = await stage.propose();
      const lost = loseOne(stage, ({ method }) => method === 'PATCH' || method === 'PUT');
      await stage.act(proposal['id'], 'reject');
      await vi.waitFor(() => expect(lost()).toBe(true), { timeout: 10_000 });
      await stage.plane.restart();
      stage.clock.skip(60_000);
      await stage.settled();
      expect(stage.fake.request(1)).toMatchObject({ state: 'closed', comments: [expect.any(String)] });
    },
    TIMEOUT,
  );

  test(
    'an API that is down for an hour delays what is due and loses nothing',
    async () => {
      await using stage = await HostedStage.start(shape);
      stage.fake.intercept = () => ({ status: 503 });
      const { id } = await stage.ask();
      await stage.untilState(id, 'open');
      await vi.waitFor(() => expect(stage.fake.calls.length).toBeGreaterThan(0), { timeout: 10_000 });
      for (let minutes = 0; minutes < 60; minutes += 10) {
        stage.clock.skip(600_000);
        await stage.quiet();
      }
      stage.fake.intercept = undefined;
      await stage.until(id, (proposal) => proposal['hostNumber'] !== undefined, 31_000);
    },
    TIMEOUT,
  );

  test(
    'a credential that the API takes no more is shown on the repository, and nothing is lost with it',
    async () => {
      await using stage = await HostedStage.start(shape);
      stage.fake.intercept = ({ path }) =>
        /(pulls|merge_requests)/.test(path) ? { status: 401, body: { message: '401 Unauthorized' } } : undefined;
      const { id } = await stage.ask();
      const probe = await vi.waitFor(
        async () => {
          const { body } = await stage.plane.call('GET', '/repositories/hosted');
          if (body['probe']?.state !== 'forbidden') throw new Error(JSON.stringify(body));
          return body['probe'] as { readonly message: string };
        },
        { timeout: 10_000, interval: 50 },
      );
      expect(probe.message).toContain('does not take the credential: it is wrong, expired, or not active yet');
      expect(await stage.until(id, (now) => now['closeReason'] !== undefined)).toMatchObject({
        state: 'open',
        closeReason: probe.message,
      });
      stage.fake.intercept = undefined;
      const opened = await stage.until(id, (proposal) => proposal['hostNumber'] !== undefined, 31_000);
      expect(opened['closeReason']).toBeUndefined();
    },
    TIMEOUT,
  );
});
