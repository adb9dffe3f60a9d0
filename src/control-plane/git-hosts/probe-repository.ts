import { Type, type Static } from 'typebox';
import { GitProcessError, runGit } from '../../git/git-process.ts';
import { isFresh } from '../../git/git-credential.ts';
import { openRemote } from '../../git/remote/open-remote.ts';
import { Timestamp } from '../../protocol/condition.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { RepositoryRow } from '../store/schema.ts';
import { GithubAppError } from './github-app-tokens.ts';
import type { HostAccess } from './host-access.ts';
import { askHost, HostApiError, type HostReport } from './host-api.ts';

/**
 * `repositories.probe`.
 *
 * - `ready`: the credential may write
 * - `pending`: it was issued seconds ago, and the host does not know it everywhere yet
 * - `forbidden`: the host refuses; a person must correct the credential, its rights or the address
 * - `unreachable`: no answer, or none that says anything
 */
export const ProbeResult = Type.Object({
  state: Type.Union([
    Type.Literal('ready'),
    Type.Literal('pending'),
    Type.Literal('forbidden'),
    Type.Literal('unreachable'),
  ]),
  message: Type.String(),
  at: Timestamp,
});
export type ProbeResult = Static<typeof ProbeResult>;

/** What was found, and when the credential ends where its host tells. */
export interface Probed {
  readonly result: Omit<ProbeResult, 'at'>;
  readonly expiresAt?: string;
  /** The credential that is refused, where it is not the one that writes. */
  readonly of?: 'read' | 'api';
}

/** Begins what a probe says where the branch is not made yet. */
export const NO_BRANCH = 'there is no branch';

const parseResult = compileParser(ProbeResult);
const MAX_MESSAGE = 600;
const READ_TIMEOUT_MS = 30_000;

export function probeOf(row: Pick<RepositoryRow, 'probe'>): ProbeResult | undefined {
  return row.probe === null ? undefined : parseResult(JSON.parse(row.probe));
}

/**
 * Looks whether the repository can be written and read, and leaves no trace: the host is asked for its branches as before a
 * push, its API for what the credential may do, and a read credential for what it sees. Rejects only when aborted.
 */
export async function probeRepository(
  access: HostAccess,
  row: Pick<RepositoryRow, 'url' | 'branch'>,
  signal: AbortSignal,
): Promise<Probed> {
  try {
    return await probe(access, row, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof GithubAppError) return found(error.isLasting ? 'forbidden' : 'unreachable', error.message);
    return found('unreachable', error instanceof Error ? error.message : 'the probe failed');
  }
}

async function probe(
  access: HostAccess,
  { url, branch }: Pick<RepositoryRow, 'url' | 'branch'>,
  signal: AbortSignal,
): Promise<Probed> {
  const remote = openRemote({ url, fetchLike: access.fetchLike, link: access.native });
  const credential = await access.gitCredential(signal);
  const advertised = await remote.advertise(credential, signal);
  if (advertised.state === 'rejected') {
    if (advertised.rejection !== 'auth') return found('unreachable', advertised.message);
    return found(isFresh(credential) ? 'pending' : 'forbidden', advertised.message);
  }
  const notes: string[] = [];
  if (!advertised.value.refs.has(`refs/heads/${branch}`)) {
    notes.push(`${NO_BRANCH} ${branch} yet; the first commit makes it, and a proposal needs one before`);
  }
  let report: HostReport = {};
  try {
    report = await askHost(access, signal);
  } catch (error) {
    if (!(error instanceof HostApiError)) throw error;
    // Set for the API alone. One that writes, and that the API does not know, is a deploy token: that writes all the same.
    if (error.isRefusal && access.hasOwnApiToken) return refusedApi(error.message);
    notes.push(error.message);
  }
  const expiry = report.expiresAt === undefined ? {} : { expiresAt: report.expiresAt };
  if (report.isArchived === true) return { ...found('forbidden', 'the repository is archived'), ...expiry };
  if (access.hasOwnApiToken && (report.mayWrite === false || report.mayPropose === false)) {
    return { ...refusedApi('it may not open and merge pull or merge requests'), ...expiry };
  }
  if (report.mayWrite === false) {
    return { ...found('forbidden', 'the credential may read the repository and not write it'), ...expiry };
  }
  if (report.mayPropose === false) notes.push('the credential may not open pull or merge requests');
  const unread = await readFault(access, url, branch, signal);
  if (unread !== undefined) return { ...found('forbidden', unread), of: 'read', ...expiry };
  return { ...found('ready', ['may write', ...notes].join('; ')), ...expiry };
}

/** Why the operators' credential reads nothing; undefined where it does or none is set. */
async function readFault(
  access: HostAccess,
  url: string,
  branch: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const credential = access.readCredential;
  if (credential === undefined) return undefined;
  await using native = await openRemote({ url, link: access.native }).native(credential);
  try {
    await runGit(['ls-remote', '--quiet', '--end-of-options', url, `refs/heads/${branch}`], {
      env: native.environment,
      signal,
      timeoutMs: READ_TIMEOUT_MS,
    });
    return undefined;
  } catch (error) {
    if (!(error instanceof GitProcessError)) throw error;
    const line = error.stderr.split('\n').findLast((text) => text.trim() !== '') ?? '';
    return `the read credential does not read: ${line.trim().slice(0, 300)}`;
  }
}

function refusedApi(why: string): Probed {
  return { ...found('forbidden', `the api credential does not do: ${why}`), of: 'api' };
}

function found(state: ProbeResult['state'], message: string): Probed {
  return { result: { state, message: message.slice(0, MAX_MESSAGE) } };
}
