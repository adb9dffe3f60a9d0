import { AppError } from '../../protocol/app-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { RepositoryHistory } from '../history/repository-history.ts';
import type { AdminIdentity } from '../store/admin-tokens.ts';
import { appendAudit } from '../store/audit.ts';
import type { Store } from '../store/open-store.ts';
import { findRepository } from '../store/repositories.ts';
import { deleteRepositoryRow, forgetRepositoryAtClusters, readersOfRepository } from '../store/repository-admin.ts';
import type { RepositoryRow } from '../store/schema.ts';

export interface DeleteRepositoryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly history: Pick<RepositoryHistory, 'commits'>;
}

/**
 * Forgets a repository that no cluster uses: any of another host, and one of the embedded host to which nothing was ever
 * written. Of the latter the folder with its first commit stays, and is taken up again where the name is used again.
 *
 * @throws AppError `not_found`; `conflict` while a cluster uses it, and for one of the embedded host that holds commits
 */
export async function deleteRepository(
  deps: DeleteRepositoryDeps,
  admin: AdminIdentity,
  name: string,
  /** Inside the transaction: refuses by throwing. */
  mayDelete: (row: RepositoryRow) => void = () => undefined,
): Promise<void> {
  const found = await findRepository(deps.store.db, admin.organization, name);
  if (found?.embedded === 1) await refuseWritten(deps, found, name);
  await deps.store.write(async (trx) => {
    const row = await findRepository(trx, admin.organization, name);
    if (row === undefined) throw new AppError('not_found', `there is no repository ${name}`);
    mayDelete(row);
    if (row.id !== found?.id) throw new AppError('conflict', `the repository ${name} was changed at the same time`);
    const users = await readersOfRepository(trx, row.id);
    if (users.length > 0) {
      const [some, more] = [users.slice(0, 5).join(', '), users.length > 5 ? ` and ${users.length - 5} more` : ''];
      const message = `the repository ${name} is used by ${some}${more}: delete these clusters, or move them to another mode, first`;
      throw new AppError('conflict', message);
    }
    await forgetRepositoryAtClusters(trx, row.id);
    await deleteRepositoryRow(trx, row.id);
    await appendAudit(trx, {
      organizationId: admin.organization.id,
      at: deps.clock.now().toISOString(),
      source: 'user',
      kind: 'RepositoryDeleted',
      actor: admin.name,
      summary: `repository ${name} (${row.url}) is no longer known; nothing was changed at its host`,
    });
  });
}

/** What was delivered is the record of who asked for what, and outlives its clusters. */
async function refuseWritten(deps: DeleteRepositoryDeps, row: RepositoryRow, name: string): Promise<void> {
  const { commits } = await deps.history.commits(row.id, { paths: [], limit: 2, after: undefined });
  // The first one is the host's own, a README.
  if (commits.length < 2) return;
  const message = `the repository ${name} is of the control plane's own Git host and holds what was delivered; it is kept as the record of that, and its name with it. Use another name`;
  throw new AppError('conflict', message);
}
