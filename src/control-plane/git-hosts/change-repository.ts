import { AppError } from '../../protocol/app-error.ts';
import { newId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/parse.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Secret } from '../../runtime/secret.ts';
import type { MasterKey } from '../master-key.ts';
import type { AdminIdentity } from '../store/admin-tokens.ts';
import { appendAudit } from '../store/audit.ts';
import type { Store } from '../store/open-store.ts';
import { clustersOfRepository, raiseConfigRevisionsOf } from '../store/repository-admin.ts';
import { EMBEDDED_BRANCH, findRepository, hostedName, refuseReservedName } from '../store/repositories.ts';
import type { RepositoryRow } from '../store/schema.ts';
import { configTopic } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';
import { credentialInfosOf, describeCredentials } from './credential-info.ts';
import type { HostAccess } from './host-access.ts';
import type { HostAccesses } from './host-accesses.ts';
import { normalUrl } from './repository-address.ts';
import { openCredentials, sealCredentials, type HostSettings, type StoredCredentials } from './host-credentials.ts';
import { leaveOldPlace } from './move-repository.ts';
import { probeRepository, type Probed } from './probe-repository.ts';
import { credentialFaults, repositoryFaults, type PutCredentials, type PutRepository } from './repository-request.ts';

/** Below the ten seconds that `servicectl` waits. */
const WAIT_MS = 8000;

export interface ChangeRepositoryDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly masterKey: MasterKey;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly hostAccesses: Pick<HostAccesses, 'openAlone' | 'rules'>;
}

/** A repository after a change. `webhookSecret` only where this change made it: it is shown once. */
export interface ChangedRepository {
  readonly row: RepositoryRow;
  readonly isNew: boolean;
  readonly webhookSecret?: Secret;
}

/**
 * Records a repository of another host, or puts everything that is known of one anew, and looks whether it can be used.
 *
 * @throws AppError `constraint_violated`; `conflict` for a name of the embedded host's, for a layout that is in use, and for
 *   another address while proposals in it are not decided
 */
export async function putRepository(
  deps: ChangeRepositoryDeps,
  admin: AdminIdentity,
  name: string,
  body: PutRepository,
  signal: AbortSignal,
  /** Inside the transaction, of what is there: refuses by throwing. */
  mayChange: (now: RepositoryRow | undefined) => void = () => undefined,
): Promise<ChangedRepository> {
  refuseReservedName(name, '');
  const faults = repositoryFaults(body, deps.hostAccesses.rules);
  if (faults.length > 0) throw refusal(faults);
  const known = await findRepository(deps.store.db, admin.organization, name);
  const before = known === undefined ? undefined : await requireOther(deps, known, name);
  const at = deps.clock.now().toISOString();
  const id = known?.id ?? newId('repo', deps.clock.now(), deps.randomBytes);
  const webhookSecret = before?.stored.webhookSecret ?? newWebhookSecret(deps);
  const { write, read, api } = body;
  const proxyUrl = body.proxyUrl === undefined ? undefined : normalUrl(body.proxyUrl);
  const stored: StoredCredentials = {
    write,
    webhookSecret,
    ...(read === undefined ? {} : { read }),
    ...(api === undefined ? {} : { api }),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
  };
  const settings: HostSettings = {
    ...(body.apiUrl === undefined ? {} : { apiUrl: normalUrl(body.apiUrl) }),
    ...(body.caCertificate === undefined ? {} : { caCertificate: body.caCertificate }),
  };
  const draft: RepositoryRow = {
    ...(known ?? { created_at: at, layout_move: null, layout_history: null }),
    id,
    organization_id: admin.organization.id,
    name: hostedName(admin.organization, name),
    url: normalUrl(body.url),
    branch: body.branch ?? EMBEDDED_BRANCH,
    layout: body.layout ?? known?.layout ?? 'flat',
    embedded: 0,
    host: body.host,
    host_settings: JSON.stringify(settings),
    credentials_sealed: await sealCredentials(deps.masterKey, id, stored),
    credential_info: JSON.stringify(describeCredentials(stored, before, at)),
    probe: null,
  };
  const row = withProbe(draft, await tryOut(deps, draft, signal), at);
  const changed = await deps.store.write(async (trx) => {
    const now = await findRepository(trx, admin.organization, name);
    mayChange(now);
    if (now?.id !== known?.id) throw new AppError('conflict', `the repository ${name} was changed at the same time`);
    const users = known === undefined ? [] : await clustersOfRepository(trx, id);
    if (known !== undefined && row.layout !== known.layout && users.length > 0) {
      throw new AppError(
        'conflict',
        `the repository ${name} has clusters in it: move its layout by the command for it`,
      );
    }
    if (known !== undefined) await leaveOldPlace(trx, name, known, row);
    if (known === undefined) await trx.insertInto('repositories').values(row).execute();
    else await trx.updateTable('repositories').set(row).where('id', '=', id).execute();
    await appendAudit(trx, {
      organizationId: admin.organization.id,
      at,
      source: 'user',
      kind: known === undefined ? 'RepositoryCreated' : 'RepositoryUpdated',
      actor: admin.name,
      summary: `repository ${name} is ${row.url} (${body.host}), branch ${row.branch}, write credential ${write.kind}`,
    });
    return await raiseConfigRevisionsOf(trx, id);
  });
  for (const clusterId of changed) deps.wakeups.notify(configTopic(clusterId));
  return {
    row,
    isNew: known === undefined,
    ...(before === undefined ? { webhookSecret: new Secret(webhookSecret) } : {}),
  };
}

/**
 * Replaces credentials. The new write credential is tried before it is taken, and one that the host refuses is not: the old
 * one goes on. What is under way with the old one ends with it.
 *
 * @throws AppError `not_found`, `conflict`, `constraint_violated`
 */
export async function replaceCredentials(
  deps: ChangeRepositoryDeps,
  admin: AdminIdentity,
  name: string,
  body: PutCredentials,
  signal: AbortSignal,
): Promise<ChangedRepository> {
  const known = await requireRepository(deps, admin, name);
  const before = await requireOther(deps, known, name);
  const given = { ...(body.write && { write: body.write }), ...(body.read && { read: body.read }) };
  const faults = credentialFaults({
    url: known.url,
    host: known.host ?? 'git',
    ...given,
    ...(body.api && { api: body.api }),
  });
  if (faults.length > 0) throw refusal(faults);
  const at = deps.clock.now().toISOString();
  const { read, api, ...rest } = before.stored;
  const nextRead = body.read === undefined ? read : body.read;
  const nextApi = body.api === undefined ? api : body.api;
  const stored: StoredCredentials = {
    ...rest,
    ...(body.write === undefined ? {} : { write: body.write }),
    ...(nextRead === undefined || nextRead === null ? {} : { read: nextRead }),
    ...(nextApi === undefined || nextApi === null ? {} : { api: nextApi }),
    ...(body.webhookSecret === undefined ? {} : { webhookSecret: newWebhookSecret(deps) }),
  };
  const draft: RepositoryRow = {
    ...known,
    credentials_sealed: await sealCredentials(deps.masterKey, known.id, stored),
    credential_info: JSON.stringify(describeCredentials(stored, before, at)),
  };
  // A new secret for webhooks alone says nothing of the credentials: it is made also where they need to be replaced.
  const isTried = body.write !== undefined || body.read !== undefined || body.api !== undefined;
  const probed = isTried ? await tryOut(deps, draft, signal) : undefined;
  if (probed?.result.state === 'forbidden') {
    const path = `/${probed.of ?? 'write'}`;
    throw refusal([{ path, message: `was not taken, and the one before it is kept: ${probed.result.message}` }]);
  }
  const row = probed === undefined ? draft : withProbe(draft, probed, at);
  const names = (['write', 'read', 'api', 'webhookSecret'] as const).filter((use) => body[use] !== undefined);
  const changed = await deps.store.write(async (trx) => {
    const { credentials_sealed, credential_info, probe } = row;
    const { numUpdatedRows } = await trx
      .updateTable('repositories')
      .set({ credentials_sealed, credential_info, probe })
      .where('id', '=', known.id)
      .where('credentials_sealed', '=', known.credentials_sealed)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw new AppError('conflict', `the repository ${name} was changed at the same time`);
    await appendAudit(trx, {
      organizationId: admin.organization.id,
      at,
      source: 'user',
      kind: 'RepositoryCredentialsReplaced',
      actor: admin.name,
      summary: `credentials of repository ${name} replaced: ${names.join(', ')}`,
    });
    return body.read === undefined ? [] : await raiseConfigRevisionsOf(trx, known.id);
  });
  for (const clusterId of changed) deps.wakeups.notify(configTopic(clusterId));
  const isShown = body.webhookSecret !== undefined;
  return { row, isNew: false, ...(isShown ? { webhookSecret: new Secret(stored.webhookSecret) } : {}) };
}

/** @throws AppError `not_found`, also for another organization's */
export async function requireRepository(
  deps: Pick<ChangeRepositoryDeps, 'store'>,
  admin: AdminIdentity,
  name: string,
): Promise<RepositoryRow> {
  const row = await findRepository(deps.store.db, admin.organization, name);
  if (row === undefined) throw new AppError('not_found', `there is no repository ${name}`);
  return row;
}

export function requireOtherHost(row: RepositoryRow, name: string): void {
  if (row.host !== null && row.embedded !== 1) return;
  const message = `the repository ${name} is of the control plane's own Git host, which needs no address, credentials or probe`;
  const next =
    'register one of another host under another name, or delete this one first while nothing was written to it';
  throw new AppError('conflict', `${message}; ${next}`);
}

async function requireOther(deps: ChangeRepositoryDeps, row: RepositoryRow, name: string) {
  requireOtherHost(row, name);
  const stored = await openCredentials(deps.masterKey, row);
  const at = deps.clock.now().toISOString();
  return { stored, infos: credentialInfosOf(row) ?? describeCredentials(stored, undefined, at) };
}

/** By connections of its own: what is not stored yet is nobody else's to use. */
async function tryOut(
  { hostAccesses }: Pick<ChangeRepositoryDeps, 'hostAccesses'>,
  row: RepositoryRow,
  signal: AbortSignal,
): Promise<Probed> {
  await using access = await hostAccesses.openAlone(row);
  return await probeWhileWaiting(access, row, signal);
}

/** A probe that a person waits for: it ends before they give up. */
export async function probeWhileWaiting(access: HostAccess, row: RepositoryRow, signal: AbortSignal): Promise<Probed> {
  const limit = AbortSignal.timeout(WAIT_MS);
  try {
    return await probeRepository(access, row, AbortSignal.any([signal, limit]));
  } catch (error) {
    if (!limit.aborted) throw error;
    const message = `the host did not answer within ${WAIT_MS / 1000} s; it is tried again`;
    return { result: { state: 'unreachable', message } };
  }
}

/** The row with what a probe found, and with the end of its write credential where the host told it. */
export function withProbe(row: RepositoryRow, { result, expiresAt }: Probed, at: string): RepositoryRow {
  const infos = credentialInfosOf(row);
  const told =
    infos === undefined || expiresAt === undefined ? infos : { ...infos, write: { ...infos.write, expiresAt } };
  return {
    ...row,
    probe: JSON.stringify({ ...result, at }),
    credential_info: told === undefined ? row.credential_info : JSON.stringify(told),
  };
}

/** In the form that GitLab asks of a signing token; other hosts take any text. */
function newWebhookSecret(deps: Pick<ChangeRepositoryDeps, 'randomBytes'>): string {
  return `whsec_${Buffer.from(deps.randomBytes(32)).toString('base64')}`;
}
