import type { Kysely } from 'kysely';
import { clusterDirectory } from '../../../delivery/gitops/layout.ts';
import { AppError } from '../../../protocol/app-error.ts';
import { isClusterId, newClusterId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/parse.ts';
import { hashToken, mintToken } from '../../../protocol/token.ts';
import type { Secret } from '../../../runtime/secret.ts';
import { changeLabels } from '../../cluster-label-change.ts';
import { DEFAULT_SECURITY } from '../../cluster-settings.ts';
import { effectiveIntervals, findSettings } from '../../organization-settings.ts';
import { requireProjectable } from '../../projected-templates.ts';
import type { AdminIdentity } from '../../store/admin-tokens.ts';
import { appendAudit } from '../../store/audit.ts';
import { expireRegistrationTokens, findDeletedCluster } from '../../store/cluster-admin.ts';
import { labelsText, putClusterLabels } from '../../store/cluster-labels.ts';
import { insertPendingCluster } from '../../store/clusters.ts';
import { insertPushCredential, type NewPushCredential } from '../../store/push-credentials.ts';
import { newPushCredential } from '../../push/push-access.ts';
import { readKubeconfig } from '../../push/read-kubeconfig.ts';
import { insertRegistrationToken, REGISTRATION_TOKEN_LIFETIME_MS } from '../../store/registration-tokens.ts';
import {
  DEFAULT_REPOSITORY,
  EMBEDDED_BRANCH,
  ensureRepositoryRow,
  findRepository,
  hostedName,
  refuseReservedName,
} from '../../store/repositories.ts';
import type { ClusterRow, Database } from '../../store/schema.ts';
import { isUniqueViolation } from '../../store/store-error.ts';
import type { AdminDeps } from './admin-deps.ts';
import type { CreateCluster } from './cluster-schemas.ts';
import { changeGitSettings } from './git-change.ts';
import { changeIntervals } from './intervals-change.ts';

/** A registration token, to be shown once. */
export interface IssuedRegistrationToken {
  readonly token: Secret;
  readonly expiresAt: string;
}

export interface CreatedCluster {
  readonly row: ClusterRow;
  readonly registration: IssuedRegistrationToken;
  /** The name of a repository that was asked for by this name, and was not there. */
  readonly madeRepository?: string | undefined;
  /** Push mode: it came with a kubeconfig. */
  readonly hasPushCredential: boolean;
}

/**
 * Makes an identity record, Pending, and its first registration token. In gitops mode it has a repository: the one it
 * names, else the one that the organization's clusters share; it is made when it is first named.
 *
 * @throws AppError `conflict` for a slug that the organization has already
 */
export async function createCluster(
  deps: AdminDeps,
  admin: AdminIdentity,
  body: CreateCluster,
): Promise<CreatedCluster> {
  refuseContradictions(body);
  changeLabels({}, body.labels ?? {});
  const id = newClusterId(deps.randomBytes);
  const pushCredential = await readPush(deps, admin, id, body);
  const { repository: _, ...git } = body.git ?? {};
  const gitSettings = changeGitSettings(null, git);
  const repositoryName = body.connectivityMode === 'gitops' ? (body.git?.repository ?? DEFAULT_REPOSITORY) : undefined;
  let madeRepository: string | undefined;
  if (repositoryName !== undefined) {
    refuseReservedName(repositoryName);
    const known = await findRepository(deps.store.db, admin.organization, repositoryName);
    if (known === undefined) madeRepository = body.git?.repository;
    // First, so that a fault here leaves no record whose registration token nobody has seen. Another host's is there.
    if (known === undefined || known.embedded === 1) {
      await deps.host.ensureRepository(hostedName(admin.organization, repositoryName), {
        branch: EMBEDDED_BRANCH,
        sign: async (payload) => await deps.commitSigning.sign(admin.organization.id, payload),
      });
    }
  }
  try {
    const made = await deps.store.write(async (trx) => {
      await requireProjectable(trx, admin.organization.id, body.allowedOperationTemplates);
      return await insertCluster(trx, deps, admin, body, { id, repositoryName, gitSettings, pushCredential });
    });
    return { ...made, madeRepository, hasPushCredential: pushCredential !== undefined };
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new AppError('conflict', `there is a cluster ${body.slug} already; a slug is never used twice`, {
      cause: error,
      faults: [{ path: '/slug', message: 'is taken' }],
    });
  }
}

/** A fresh token; those issued before and not used are no longer taken. */
export async function issueRegistrationToken(
  trx: Kysely<Database>,
  deps: Pick<AdminDeps, 'clock' | 'randomBytes'>,
  clusterId: string,
  createdBy: string,
): Promise<IssuedRegistrationToken> {
  const now = deps.clock.now();
  const token = mintToken('svcreg', deps.randomBytes);
  const expiresAt = new Date(now.getTime() + REGISTRATION_TOKEN_LIFETIME_MS).toISOString();
  await expireRegistrationTokens(trx, clusterId, now.toISOString());
  await insertRegistrationToken(trx, {
    token_hash: hashToken(token.expose()),
    cluster_id: clusterId,
    created_by: createdBy,
    created_at: now.toISOString(),
    expires_at: expiresAt,
  });
  return { token, expiresAt };
}

/** What is decided and sealed before the transaction. */
interface MadeBefore {
  readonly id: string;
  readonly repositoryName: string | undefined;
  readonly gitSettings: string | null;
  readonly pushCredential: NewPushCredential | undefined;
}

/**
 * The credential of a cluster in push mode, where it comes with it. It is not probed: the cluster that is just made has no
 * operator that could say whose API server it is. Nothing is written by it before one does.
 */
async function readPush(
  deps: AdminDeps,
  admin: AdminIdentity,
  clusterId: string,
  { push }: CreateCluster,
): Promise<NewPushCredential | undefined> {
  if (push === undefined) return undefined;
  const access = readKubeconfig(push.kubeconfig, { path: '/push/kubeconfig', now: deps.clock.now() });
  return await newPushCredential(deps, { clusterId, access, createdBy: admin.name });
}

async function insertCluster(
  trx: Kysely<Database>,
  deps: AdminDeps,
  admin: AdminIdentity,
  body: CreateCluster,
  { id, repositoryName, gitSettings, pushCredential }: MadeBefore,
): Promise<{ readonly row: ClusterRow; readonly registration: IssuedRegistrationToken }> {
  const at = deps.clock.now().toISOString();
  await refuseSpentSlug(trx, admin.organization.id, body.slug);
  const settings = await findSettings(trx, admin.organization.id);
  const labels = body.labels ?? {};
  const ownIntervals = changeIntervals({}, body.intervals);
  const repository =
    repositoryName === undefined
      ? undefined
      : await ensureRepositoryRow(trx, admin.organization, repositoryName, { ...deps, baseUrl: deps.baseUrl() });
  const row = await insertPendingCluster(trx, {
    id,
    organization_id: admin.organization.id,
    slug: body.slug,
    display_name: body.displayName,
    labels: labelsText(labels),
    connectivity_mode: body.connectivityMode ?? 'pull',
    allowed_namespaces: JSON.stringify(body.allowedNamespaces),
    allowed_catalog_entries: JSON.stringify(body.allowedCatalogEntries),
    allowed_operation_templates: JSON.stringify(body.allowedOperationTemplates),
    security: JSON.stringify({ ...DEFAULT_SECURITY, ...body.security }),
    intervals: JSON.stringify(effectiveIntervals(settings, ownIntervals)),
    own_intervals: JSON.stringify(ownIntervals),
    repository_id: repository?.id ?? null,
    git_directory: repository === undefined ? null : clusterDirectory(repository.layout, body.slug),
    git_settings: gitSettings,
    created_at: at,
  });
  await putClusterLabels(trx, row, labels);
  if (pushCredential !== undefined) await insertPushCredential(trx, pushCredential, 'current');
  const registration = await issueRegistrationToken(trx, deps, row.id, admin.name);
  await appendAudit(trx, {
    organizationId: admin.organization.id,
    at,
    source: 'user',
    kind: 'ClusterCreated',
    clusterId: row.id,
    actor: admin.name,
    summary: `cluster ${row.slug} created in mode ${row.connectivity_mode}${pushCredential === undefined ? '' : `, to be written to at ${pushCredential.server}`}; a registration token was issued`,
  });
  return { row, registration };
}

/** A slug names a directory in Git, which outlives the record of its cluster. */
async function refuseSpentSlug(trx: Kysely<Database>, organizationId: string, slug: string): Promise<void> {
  const spent = await findDeletedCluster(trx, organizationId, slug);
  if (spent === undefined) return;
  throw new AppError('conflict', `cluster ${slug} was deleted at ${spent.deleted_at}; a slug is never used twice`, {
    faults: [{ path: '/slug', message: 'was used' }],
  });
}

function refuseContradictions(body: CreateCluster): void {
  if (isClusterId(body.slug)) {
    throw refusal([{ path: '/slug', message: 'has the form of a cluster id; choose another' }]);
  }
  if (body.git !== undefined && body.connectivityMode !== 'gitops') {
    throw refusal([{ path: '/git', message: 'belongs to connectivityMode gitops only' }]);
  }
  if (body.push !== undefined && body.connectivityMode !== 'push') {
    throw refusal([{ path: '/push', message: 'belongs to connectivityMode push only' }]);
  }
}
