import type { Kysely } from 'kysely';
import { fingerprintOf, parseSshPublicKey, sshPublicKeyLine } from '../../git/signing/ssh-public-key.ts';
import { SshFormatError } from '../../git/signing/ssh-wire.ts';
import { AppError } from '../../protocol/app-error.ts';
import { newId } from '../../protocol/ids.ts';
import type { AdminIdentity } from '../store/admin-tokens.ts';
import { appendAudit } from '../store/audit.ts';
import type { AuditKind } from '../store/audit-kinds.ts';
import {
  insertCommitSigningKey,
  listCommitSigningKeys,
  MAX_COMMIT_SIGNERS,
  raiseRevisionsOfVerifiers,
  retireCommitSigningKey,
  revokeCommitSigningKey,
  signsNow,
  trustPresentRevisions,
} from '../store/commit-signing-keys.ts';
import type { CommitSigningKeyRow } from '../store/review-rows.ts';
import type { Database } from '../store/schema.ts';
import { configTopic } from '../topics.ts';
import { newCommitSigningKey, type CommitSigning, type CommitSigningDeps } from './commit-signing.ts';

export interface ChangeSignersDeps extends CommitSigningDeps {
  readonly commitSigning: Pick<CommitSigning, 'forget'>;
}

/**
 * A new key signs from now on. The private half of the one before it is destroyed; what that one signed counts until it is
 * revoked.
 *
 * @throws AppError `conflict` when as many keys count as may
 */
export async function rotateCommitSigningKey(
  deps: ChangeSignersDeps,
  admin: AdminIdentity,
): Promise<CommitSigningKeyRow> {
  const successor = await newCommitSigningKey(deps, admin.organization.id);
  return await change(deps, admin, async (trx, rows) => {
    requireRoom(rows);
    await succeed(trx, rows, successor);
    const before = rows.find(signsNow);
    return {
      row: successor,
      kind: 'CommitSigningKeyRotated',
      summary: `commits are signed with ${nameOf(successor)}${before === undefined ? '' : ` in place of ${nameOf(before)}, which still counts`}`,
    };
  });
}

/**
 * Lets the signatures of a person or of another system count.
 *
 * @param key.publicKey the line of a `.pub` file
 * @throws AppError `constraint_violated` for a key that cannot be read, `conflict` for one that is there, was revoked, or is one too many
 */
export async function addCommitSigner(
  deps: ChangeSignersDeps,
  admin: AdminIdentity,
  key: { readonly principal: string; readonly publicKey: string },
): Promise<CommitSigningKeyRow> {
  const at = deps.clock.now();
  const row: CommitSigningKeyRow = {
    id: newId('csk', at, deps.randomBytes),
    organization_id: admin.organization.id,
    principal: key.principal,
    public_key: readPublicKey(key.publicKey),
    private_key_sealed: null,
    added_by: admin.name,
    created_at: at.toISOString(),
    retired_at: null,
    revoked_at: null,
    revoked_reason: null,
  };
  return await change(deps, admin, async (trx, rows) => {
    const same = rows.find(({ public_key: publicKey }) => publicKey === row.public_key);
    if (same !== undefined) {
      const why =
        same.revoked_at === null
          ? `counts already, for ${same.principal}; revoke it first`
          : 'was revoked, and what it signed before would count again; make a new key';
      throw new AppError('conflict', `the key ${fingerprint(same)} ${why}`, {
        faults: [{ path: '/publicKey', message: same.revoked_at === null ? 'is there already' : 'was revoked' }],
      });
    }
    requireRoom(rows);
    await insertCommitSigningKey(trx, row);
    return { row, kind: 'CommitSignerAdded', summary: `commits signed with ${nameOf(row)} count` };
  });
}

/**
 * From now on nothing counts that this key signed, however old. Where it is the one that signs, a successor takes its place
 * first. Revoked twice is revoked once.
 *
 * @param key.trustsPresent the admin vouches for the present revision of every cluster that requires signed commits
 * @throws AppError `not_found`, also for a key of another organization
 */
export async function revokeCommitSigner(
  deps: ChangeSignersDeps,
  admin: AdminIdentity,
  key: { readonly id: string; readonly reason: string | undefined; readonly trustsPresent: boolean },
): Promise<CommitSigningKeyRow> {
  const successor = await newCommitSigningKey(deps, admin.organization.id);
  return await change(deps, admin, async (trx, rows) => {
    const row = rows.find(({ id }) => id === key.id);
    if (row === undefined) throw new AppError('not_found', `there is no commit signing key ${key.id}`);
    if (row.revoked_at !== null) return { row };
    const signed = signsNow(row);
    if (signed) await succeed(trx, rows, successor);
    const revoked = { id: row.id, at: deps.clock.now().toISOString(), reason: key.reason ?? null };
    await revokeCommitSigningKey(trx, revoked);
    const trusted = key.trustsPresent ? await trustPresentRevisions(trx, row.organization_id) : undefined;
    const parts = [
      `commits signed with ${nameOf(row)} no longer count`,
      ...(signed ? [`${nameOf(successor)} signs from now on`] : []),
      ...(trusted === undefined ? [] : [`the present revisions of ${trusted} clusters are trusted all the same`]),
    ];
    return {
      row: { ...row, revoked_at: revoked.at, revoked_reason: revoked.reason },
      kind: 'CommitSigningKeyRevoked',
      summary: `${parts.join('; ')}${key.reason === undefined ? '' : `: ${key.reason}`}`,
    };
  });
}

interface Changed {
  readonly row: CommitSigningKeyRow;
  /** Of the audit entry; absent when nothing was changed. */
  readonly kind?: AuditKind;
  readonly summary?: string;
}

/** One change of an organization's keys: stored with its audit entry, and told to every cluster that verifies. */
async function change(
  deps: ChangeSignersDeps,
  admin: AdminIdentity,
  act: (trx: Kysely<Database>, rows: readonly CommitSigningKeyRow[]) => Promise<Changed>,
): Promise<CommitSigningKeyRow> {
  const { store, clock, wakeups, commitSigning } = deps;
  const organizationId = admin.organization.id;
  const at = clock.now().toISOString();
  const { row, told } = await store.write(async (trx) => {
    const changed = await act(trx, await listCommitSigningKeys(trx, organizationId));
    const { kind, summary } = changed;
    if (kind === undefined || summary === undefined) return { row: changed.row, told: [] };
    await appendAudit(trx, { organizationId, at, source: 'user', kind, actor: admin.name, summary });
    return { row: changed.row, told: await raiseRevisionsOfVerifiers(trx, organizationId) };
  });
  commitSigning.forget(organizationId);
  for (const id of told) wakeups.notify(configTopic(id));
  return row;
}

async function succeed(
  trx: Kysely<Database>,
  rows: readonly CommitSigningKeyRow[],
  successor: CommitSigningKeyRow,
): Promise<void> {
  const current = rows.find(signsNow);
  if (current !== undefined) await retireCommitSigningKey(trx, current.id, successor.created_at);
  await insertCommitSigningKey(trx, successor);
}

function requireRoom(rows: readonly CommitSigningKeyRow[]): void {
  const counting = rows.filter(({ revoked_at: revokedAt }) => revokedAt === null).length;
  if (counting < MAX_COMMIT_SIGNERS) return;
  throw new AppError(
    'conflict',
    `${counting} keys count for commits, the most that there may be; revoke one that signs no more`,
  );
}

function readPublicKey(line: string): string {
  try {
    return sshPublicKeyLine(parseSshPublicKey(line));
  } catch (error) {
    if (!(error instanceof SshFormatError)) throw error;
    throw new AppError('constraint_violated', `the public key ${error.message}`, {
      cause: error,
      faults: [{ path: '/publicKey', message: error.message }],
    });
  }
}

function fingerprint(row: CommitSigningKeyRow): string {
  return fingerprintOf(parseSshPublicKey(row.public_key));
}

function nameOf(row: CommitSigningKeyRow): string {
  return `${fingerprint(row)} (${row.principal})`;
}
