import type { Clock } from '../../runtime/clock.ts';
import type { PushCredentialRow } from '../store/mode-rows.ts';
import type { Store } from '../store/open-store.ts';
import { storePushFindings } from '../store/push-credentials.ts';
import type { PushReach } from './push-credential-info.ts';

const MAX_MESSAGE = 600;

/** Keeps how the last write or look went. */
export async function storeReach(
  store: Pick<Store, 'write'>,
  { id }: Pick<PushCredentialRow, 'id'>,
  { state, message }: Omit<PushReach, 'at'>,
  clock: Clock,
): Promise<void> {
  const reach: PushReach = { at: clock.now().toISOString(), state, message: message.slice(0, MAX_MESSAGE) };
  await store.write(async (trx) => await storePushFindings(trx, id, { reach: JSON.stringify(reach) }));
}
