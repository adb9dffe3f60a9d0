import { openStore, type Store } from '../../../src/control-plane/store/open-store.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { TEST_LOGGER } from './open-test-store.ts';

export async function openStoreAt(url: string): Promise<Store> {
  return await openStore({ url, clock: new ManualClock(), logger: TEST_LOGGER });
}
