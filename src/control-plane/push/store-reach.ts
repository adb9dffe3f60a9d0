import type { Kysely } from 'kysely';
import type { Clock } from '../../runtime/clock.ts';
import type { PushCredentialRow } from '../store/mode-rows.ts';
import type { Store } from '../store/open-store.ts';
import { findPushCredentialById, storePushFindings } from '../store/push-credentials.ts';
import type { Database } from '../store/schema.ts';
import { reachOf, type PushReach } from './push-credential-info.ts';
import type { Proof } from './prove-cluster.ts';

const MAX_MESSAGE = 600;

/** Keeps what a proof found, or why it could not be had. */
export async function storeReach(
  store: Pick<Store, 'write'>,
  { id }: Pick<PushCredentialRow, 'id'>,
  found: Omit<PushReach, 'at'>,
  clock: Clock,
): Promise<void> {
  await store.write(async (trx) => await put(trx, id, found, clock));
}

/**
 * Keeps how writes went. It says nothing of whose API server it is: that it is another cluster's stands until a proof says
 * otherwise.
 */
export async function storeWritten(
  store: Pick<Store, 'write'>,
  { id }: Pick<PushCredentialRow, 'id'>,
  found: Omit<PushReach, 'at' | 'other'>,
  clock: Clock,
): Promise<void> {
  await store.write(async (trx) => {
    const row = await findPushCredentialById(trx, id);
    if (row === undefined || isOther(row)) return;
    await put(trx, id, found, clock);
  });
}

/** Whether the last proof, whoever had it, found another cluster. */
export function isOther(row: Pick<PushCredentialRow, 'reach'>): boolean {
  return reachOf(row)?.other === true;
}

export function reachOfProof(proof: Proof): Omit<PushReach, 'at'> {
  switch (proof.state) {
    case 'same':
      return { state: 'ready', message: 'the API server answers, and it is this cluster’s' };
    case 'unknown':
      return { state: 'failing', message: proof.message };
    case 'other':
      return { state: 'failing', message: proof.message, other: true };
  }
}

async function put(trx: Kysely<Database>, id: string, found: Omit<PushReach, 'at'>, clock: Clock): Promise<void> {
  const reach: PushReach = { ...found, at: clock.now().toISOString(), message: found.message.slice(0, MAX_MESSAGE) };
  await storePushFindings(trx, id, { reach: JSON.stringify(reach) });
}
