import type { Clock } from '../../runtime/clock.ts';
import type { Store } from '../store/open-store.ts';
import { storeProbe } from '../store/repository-admin.ts';
import type { RepositoryRow } from '../store/schema.ts';
import { withProbe } from './change-repository.ts';

/** Shows on a repository that its host refused what was asked of it with the credential, as a probe would have found it. */
export async function tellForbidden(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  row: RepositoryRow,
  message: string,
): Promise<void> {
  const probed = withProbe(row, { result: { state: 'forbidden', message } }, clock.now().toISOString());
  await store.write(async (trx) => await storeProbe(trx, probed));
}
