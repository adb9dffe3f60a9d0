import type { Clock } from '../../runtime/clock.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { MasterKey } from '../master-key.ts';
import { findChartVersions, type VersionsOutcome } from '../store/chart-versions.ts';
import { readEntry } from '../store/catalog-entries.ts';
import type { Store } from '../store/open-store.ts';
import type { CatalogEntryRow } from '../store/schema.ts';
import { listHelmVersions } from './helm-index.ts';
import { listOciVersions } from './oci-registry.ts';
import { openBasic } from './registry-credential.ts';
import type { RegistryClient } from './registry-client.ts';
import { RegistryFault } from './registry-fault.ts';

/** Of one listing as a whole, with its retries. */
const TIMEOUT_MS = 60_000;

export interface VersionSourceDeps {
  readonly store: Pick<Store, 'db'>;
  readonly masterKey: Pick<MasterKey, 'open'>;
  readonly client: Pick<RegistryClient, 'get'>;
  readonly clock: Clock;
}

/** An outcome, and of a fault what the next look goes by. */
export interface Asked {
  readonly outcome: VersionsOutcome;
  readonly fault?: RegistryFault;
}

/** Asks the registry of an entry for the versions of its chart. Rejects only when `stop` is aborted, and for bugs. */
export async function askForVersions(deps: VersionSourceDeps, row: CatalogEntryRow, stop: AbortSignal): Promise<Asked> {
  const { store, client, clock } = deps;
  const { chart, name } = readEntry(row);
  const organizationId = row.organization_id;
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const basic = await basicOf(deps, row);
    const signal = AbortSignal.any([stop, timeout]);
    const context = { client, basic, now: () => clock.now(), signal };
    if (chart.type === 'oci') {
      return { outcome: { state: 'fetched', versions: await listOciVersions(chart, context) } };
    }
    const { etag } = await findChartVersions(store.db, organizationId, { name, chart });
    return { outcome: await listHelmVersions(chart, { ...context, etag }) };
  } catch (error) {
    stop.throwIfAborted();
    if (error instanceof RegistryFault) return failed(error);
    if (timeout.aborted) {
      return failed(new RegistryFault('down', `its versions did not come within ${TIMEOUT_MS / 1000} s`));
    }
    throw error;
  }
}

async function basicOf({ masterKey }: VersionSourceDeps, row: CatalogEntryRow): Promise<Secret | undefined> {
  if (row.credential_sealed === null) return undefined;
  const { name: entry, chart } = readEntry(row);
  try {
    return await openBasic(masterKey, { organizationId: row.organization_id, entry, chart }, row.credential_sealed);
  } catch (error) {
    const message = 'the stored credential of the entry does not open; set it again with servicectl catalog login';
    throw new RegistryFault('refused', message, { cause: error });
  }
}

export function failed(fault: RegistryFault): Asked {
  return { outcome: { state: 'failed', fault: fault.message }, fault };
}
