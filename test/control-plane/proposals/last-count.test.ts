import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { withReviews } from '../../../src/control-plane/proposals/review-of-queued.ts';
import { takeReceipt } from '../../../src/control-plane/proposals/take-receipt.ts';
import { insertIntent } from '../../../src/control-plane/store/intents.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { ensureRepositoryRow } from '../../../src/control-plane/store/repositories.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { insertCluster, insertOrganization, openTestStore, temporaryFolder } from '../store/open-test-store.ts';

const clock = new ManualClock();
const INTENT = 'int-a';
let store: Store;
let queued: never;

/** Of one proposal, approved by `anna`, which the delivery queue is about to merge. */
beforeEach(async () => {
  const folder = temporaryFolder();
  store = await openTestStore(folder.path);
  onTestFinished(async () => {
    await store[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  await insertOrganization(store, 'org-1');
  await insertCluster(store, { id: 'c-1', organization_id: 'org-1' });
  queued = await store.write(async (trx) => {
    const randomBytes = (n: number): Uint8Array => new Uint8Array(n);
    const organization = { id: 'org-1', name: 'org-1' };
    const repository = await ensureRepositoryRow(trx, organization, 'fleet', {
      clock,
      randomBytes,
      baseUrl: 'http://x',
    });
    const row = {
      id: INTENT,
      organization_id: 'org-1',
      cluster_id: 'c-1',
      target_kind: 'ApplicationInstance',
      namespace: 'shop',
      name: 'podinfo',
      generation: 1,
      action: 'install' as const,
      record: '{}',
      idempotency_key: 'k',
      state: 'accepted' as const,
      reason: null,
      requested_by: 'author',
      recovery_values: null,
      awaits_approval: null,
      render_inputs: null,
      accepted_at: 'now',
      delivered_at: null,
      applied_at: null,
      ready_at: null,
    };
    await insertIntent(trx, row);
    const way = { connectivity_mode: 'gitops' as const, repository_id: repository.id };
    await trx.updateTable('clusters').set(way).where('id', '=', 'c-1').execute();
    const token = { organization_id: 'org-1', roles: null, created_at: 'now', expires_at: null };
    await trx
      .insertInto('admin_tokens')
      .values({ ...token, name: 'anna', token_hash: 'hash of anna' })
      .execute();
    const intent = { ...row, ...way, slug: 'prod-eu', delivery_epoch: 1, git_settings: null, handover: null };
    const pins = [{ path: 'apps/shop/podinfo.yaml', after: 'a' }];
    const branch = `proposals/prod-eu/${INTENT}`;
    const receipt = { state: 'proposed', intentId: INTENT, branch, title: 'install', head: 'abc', pins } as const;
    await takeReceipt(trx, intent, receipt, clock.now());
    await trx
      .insertInto('proposal_reviews')
      .values({
        id: 'rev-1',
        proposal_id: 'prop-a',
        kind: 'approve',
        actor: 'anna',
        roles: '[]',
        token_hash: 'hash of anna',
        revision: 1,
        at: 'before',
        comment: null,
        dropped_at: null,
      })
      .execute();
    await trx.updateTable('proposals').set({ state: 'merging' }).execute();
    return intent as never;
  });
});

/** What the queue does with it when `meanwhile` happens after it was read and before it is counted. */
async function reviewWhen(meanwhile: (trx: Parameters<Parameters<Store['write']>[0]>[0]) => Promise<unknown>) {
  const rendered = { intent: { id: INTENT } } as never;
  const held = { signal: new AbortController().signal, fence: async () => undefined };
  let isFirst = true;
  const late: Store = Object.create(store, {
    write: {
      value: async (work: Parameters<Store['write']>[0]) => {
        if (isFirst) await store.write(async (trx) => void (await meanwhile(trx)));
        isFirst = false;
        return await store.write(work);
      },
    },
    db: { get: () => store.db },
  }) as Store;
  return await withReviews({ store: late, clock }, [queued], [rendered], held);
}

describe('the count at the last moment before a merge', () => {
  it('merges what is still approved, by those who approve it', async () => {
    const { items, heldBack } = await reviewWhen(async () => undefined);
    expect(heldBack).toEqual([]);
    expect(items[0]?.review).toMatchObject({ kind: 'merge', approvedBy: ['anna'] });
  });

  it.each(['open', 'superseded', 'rejected'] as const)('merges nothing that became %s meanwhile', async (state) => {
    const outcome = await reviewWhen(async (trx) => await trx.updateTable('proposals').set({ state }).execute());
    expect(outcome).toEqual({ items: [], heldBack: [INTENT] });
  });

  it.each([{ revision: 2 }, { head_commit: 'def' }, { pins: '[{"path":"other","after":"b"}]' }])(
    'merges nothing that is another one meanwhile: %o',
    async (change) => {
      const outcome = await reviewWhen(async (trx) => await trx.updateTable('proposals').set(change).execute());
      expect(outcome).toEqual({ items: [], heldBack: [INTENT] });
    },
  );

  it('merges nothing whose approver was deleted meanwhile; it waits again', async () => {
    const outcome = await reviewWhen(async (trx) => await trx.deleteFrom('admin_tokens').execute());
    expect(outcome).toEqual({ items: [], heldBack: [INTENT] });
    expect(await store.db.selectFrom('proposals').select('state').execute()).toEqual([{ state: 'open' }]);
  });

  it('does not propose again what was taken back before it was read', async () => {
    await store.write(async (trx) => await trx.updateTable('proposals').set({ state: 'superseded' }).execute());
    expect(await reviewWhen(async () => undefined)).toEqual({ items: [], heldBack: [INTENT] });
  });
});
