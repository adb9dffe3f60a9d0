import { describe, expect, it } from 'vitest';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { CLUSTER, HandoverStage } from './handover-stage.ts';

const soon = { timeout: 10_000, interval: 5 };
const INFO = JSON.stringify({ user: 'system:serviceaccount:service:push', proof: ['token'], ownCa: true });

async function giveCredential(stage: HandoverStage): Promise<void> {
  const times = { expires_at: null, renew_at: null, renewed_at: null, renewal_fault: null, revoked_at: null };
  const none = { ...times, probe: null, reach: null, revoked_reason: null };
  const who = { server: 'https://api.example:6443', info: INFO, credential_sealed: 'sealed', created_by: 'anna' };
  await stage.store.write(async (trx) => {
    const row = { ...none, ...who, id: 'push-1', cluster_id: CLUSTER, state: 'current', created_at: '' } as const;
    await trx.insertInto('push_credentials').values(row).execute();
  });
}

describe.each(TEST_DATABASES)('what is handed over and cannot be delivered yet, on $name', ({ create }) => {
  it.each([
    ['gitops', false, "cannot lock ref 'refs/heads/main'"],
    ['push', true, 'writes are paused'],
    // It says nothing of the object.
    ['push', false, null],
  ] as const)('has its reason in %s mode (alone: %s)', async (mode, alone, reason) => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    stage.script = async function* held(batch) {
      for (const { intent } of batch) {
        const message = reason ?? 'the API server does not answer';
        yield { state: 'retry', intentId: intent.id, message, ...(alone ? { alone } : {}) };
      }
    };
    if (mode === 'push') await giveCredential(stage);
    await stage.move(mode);
    await expect.poll(() => stage.batches.length, soon).toBeGreaterThan(0);
    await expect.poll(async () => await stage.handovers(), soon).toEqual([{ intent_id: id, state: 'pending', reason }]);
  });
});
