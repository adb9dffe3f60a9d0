import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { forgetRequests } from '../store/hosted-proposals.ts';
import { undecidedOfRepository } from '../store/proposals.ts';
import type { Database, RepositoryRow } from '../store/schema.ts';
import { hostSettingsOf } from './host-credentials.ts';
import { defaultApiUrl, parseRepositoryUrl } from './repository-address.ts';

/** Proposals that a refusal names. */
const MAX_NAMED = 5;

/**
 * What belongs to a repository's proposals when it is pointed at another address, host or branch. Their branches, and the
 * numbers of their requests, are of the place where it was: at another one the same number is somebody else's request.
 *
 * @throws AppError `conflict` while one of them is not decided
 */
export async function leaveOldPlace(
  trx: Kysely<Database>,
  name: string,
  before: RepositoryRow,
  after: RepositoryRow,
): Promise<void> {
  if (placeOf(before) === placeOf(after)) return;
  const waiting = await undecidedOfRepository(trx, before.id, MAX_NAMED + 1);
  if (waiting.length > 0) {
    const more = waiting.length > MAX_NAMED ? ' and more' : '';
    throw new AppError(
      'conflict',
      `the repository ${name} has proposals that are not decided (${waiting.slice(0, MAX_NAMED).join(', ')}${more}): merge, reject or withdraw them before it is pointed at another url, host or branch`,
    );
  }
  await forgetRequests(trx, before.id);
}

/** The same for one repository however its address is written: by https or ssh, with or without `.git`. */
function placeOf(row: RepositoryRow): string {
  const address = parseRepositoryUrl(row.url);
  if (typeof address === 'string' || row.host === null) return JSON.stringify([row.url, row.host, row.branch]);
  const { hostname, projectPath, port, scheme } = address;
  const server = hostSettingsOf(row).apiUrl ?? defaultApiUrl(row.host, address) ?? `${scheme}:${port ?? ''}`;
  return JSON.stringify([row.host, hostname, server.replace(/\/+$/, ''), projectPath, row.branch]);
}
