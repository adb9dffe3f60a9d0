import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { insertPendingCluster, type PendingCluster } from '../../../src/control-plane/store/clusters.ts';
import { openStore, type Store } from '../../../src/control-plane/store/open-store.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';

export const TEST_LOGGER = createLogger('test', 'silent');

/** A folder for one test, gone at its end. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'store-'));
  return {
    path,
    [Symbol.dispose]: () => {
      rmSync(path, { recursive: true, force: true });
    },
  };
}

export async function openTestStore(folder: string): Promise<Store> {
  return await openStore({
    url: `sqlite:${join(folder, 'control-plane.db')}`,
    clock: new ManualClock(),
    logger: TEST_LOGGER,
  });
}

export async function insertOrganization(store: Pick<Store, 'write'>, id: string, name = id): Promise<void> {
  await store.write(async (trx) => {
    await trx.insertInto('organizations').values({ id, name, created_at: '' }).execute();
  });
}

export async function organizationIds(store: Pick<Store, 'db'>): Promise<string[]> {
  const rows = await store.db.selectFrom('organizations').select('id').orderBy('id').execute();
  return rows.map(({ id }) => id);
}

/** A Pending record that is allowed nothing. */
export async function insertCluster(
  store: Pick<Store, 'write'>,
  cluster: Pick<PendingCluster, 'id' | 'organization_id'> & { readonly slug?: string },
): Promise<void> {
  await store.write(async (trx) => {
    await insertPendingCluster(trx, {
      slug: 'prod-eu',
      ...cluster,
      display_name: 'prod-eu',
      connectivity_mode: 'gitops',
      allowed_namespaces: '[]',
      allowed_catalog_entries: '[]',
      allowed_operation_templates: '[]',
      security: '{}',
      intervals: '{}',
      repository_id: null,
      git_directory: null,
      created_at: '',
    });
  });
}
