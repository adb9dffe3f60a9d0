import type { Kysely } from 'kysely';
import type { Condition } from '../../../protocol/condition.ts';
import { operatorSupport } from '../../../protocol/version-skew.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { PROJECT_VERSION } from '../../../runtime/project-version.ts';
import { intervalsOf, namesIn, securityOf } from '../../cluster-settings.ts';
import { gitSettingsOf } from '../../git/git-settings.ts';
import { ownIntervalsOf } from '../../organization-settings.ts';
import { currentAgentCredential } from '../../store/agent-credentials.ts';
import type { ContactWatch } from '../../contact-watch.ts';
import type { LastContact } from '../../store/last-contact.ts';
import type { Store } from '../../store/open-store.ts';
import { openSwitchOf } from '../../modes/switch-rows.ts';
import { findPushCredential } from '../../store/push-credentials.ts';
import { findRepositoryById, localName, repositoryUrl } from '../../store/repositories.ts';
import { reportedWhen } from '../../store/reported-when.ts';
import type { AgentCredentialRow, ClusterRow, Database, ResourceConditionRow } from '../../store/schema.ts';
import type { ClusterView, PushView } from './cluster-answer.ts';
import { clusterStandings, type ClusterStanding } from './cluster-summary.ts';
import { connectionConditions } from './connection-condition.ts';
import { credentialCondition } from './credential-condition.ts';
import { namesOfIntervals, viewIntervals } from './intervals-change.ts';
import { operatorCondition } from './operator-condition.ts';
import { pushConditions, viewPush } from './push-view.ts';
import { switchCondition } from './switch-condition.ts';

export interface ClusterViewDeps {
  readonly store: Pick<Store, 'db'>;
  readonly clock: Clock;
  readonly lastContact: Pick<LastContact, 'pending'>;
  readonly contactWatch: Pick<ContactWatch, 'listeningSince'>;
  readonly baseUrl: () => string;
}

/** @param standing what is told of it beside its settings, where that was asked for together with others' */
export async function viewCluster(
  deps: ClusterViewDeps,
  row: ClusterRow,
  organization: string,
  standing?: ClusterStanding,
): Promise<ClusterView> {
  const { db } = deps.store;
  const credential = await currentAgentCredential(db, row.id);
  const cluster = { ...row, last_contact_at: deps.lastContact.pending(row.id) ?? row.last_contact_at };
  const git = await viewGit(deps, row);
  const underWay = await openSwitchOf(db, row.id);
  const push = await viewPushOf(deps, row);
  return {
    id: row.id,
    slug: row.slug,
    displayName: row.display_name,
    ...(standing ?? (await clusterStandings(db, [row]))(row)),
    organization,
    status: row.status,
    ...ifKnown('disabledAt', row.disabled_at),
    connectivityMode: row.connectivity_mode,
    allowedNamespaces: namesIn(row.allowed_namespaces),
    allowedCatalogEntries: namesIn(row.allowed_catalog_entries),
    allowedOperationTemplates: namesIn(row.allowed_operation_templates),
    approvalNamespaces: namesIn(row.approval_namespaces ?? '[]'),
    intervals: viewIntervals(intervalsOf(row)),
    ownIntervals: namesOfIntervals(ownIntervalsOf(row)),
    security: securityOf(row),
    deliverIntents: row.deliver_intents === 1,
    requireClientCertificate: row.require_client_certificate === 1,
    ...(git === undefined ? {} : { git }),
    ...ifKnown('clusterUid', row.cluster_uid),
    conditions: [
      ...(await reportedConditions(db, row.id)),
      ...connectionConditions(cluster, deps.clock.now(), deps.contactWatch.listeningSince),
      ...credentialCondition(row, credential, deps.clock.now()),
      ...operatorCondition(PROJECT_VERSION, row.operator_version),
      ...pushConditions(row, push, deps.clock.now()),
      ...(underWay === undefined ? [] : [await switchCondition(db, underWay, row, deps.clock.now())]),
    ],
    ...ifKnown('lastContactAt', cluster.last_contact_at),
    ...(credential === undefined ? {} : { credential: viewCredential(credential) }),
    ...ifKnown('desiredRevision', row.desired_revision),
    ...ifKnown('trustedRevision', row.trusted_revision),
    ...ifKnown('appliedRevision', row.applied_revision),
    ...ifKnown('operatorVersion', row.operator_version),
    ...ifKnown('desiredOperatorVersion', row.desired_operator_version),
    ...ifKnown('operatorSupport', operatorSupport(PROJECT_VERSION, row.operator_version ?? '') ?? null),
    ...(push === undefined ? {} : { push }),
    ...(underWay === undefined ? {} : { modeSwitch: { id: underWay.id, state: underWay.state, to: underWay.to_mode } }),
    createdAt: row.created_at,
    ...ifKnown('registeredAt', row.registered_at),
  };
}

async function viewPushOf({ store, clock }: ClusterViewDeps, row: ClusterRow): Promise<PushView | undefined> {
  if (row.connectivity_mode !== 'push') return undefined;
  return viewPush(await findPushCredential(store.db, row.id), clock.now());
}

function viewCredential(row: AgentCredentialRow): NonNullable<ClusterView['credential']> {
  return { expiresAt: row.expires_at, rotateAfter: row.rotate_after, certified: row.certified_at !== null };
}

/** A column that may be null, as a member that may be absent. */
export function ifKnown<const Name extends string, T>(name: Name, value: T | null): { readonly [K in Name]?: T } {
  return value === null ? {} : ({ [name]: value } as { readonly [K in Name]: T });
}

/** A row of the fold as a condition. */
export function conditionOf(row: ResourceConditionRow): Condition {
  return {
    type: row.type,
    status: row.status as Condition['status'],
    ...ifKnown('reason', row.reason),
    ...ifKnown('message', row.message),
    ...ifKnown('lastTransitionTime', row.last_transition_time),
    ...ifKnown('observedGeneration', row.generation),
  };
}

async function viewGit(deps: ClusterViewDeps, row: ClusterRow): Promise<ClusterView['git']> {
  // Kept of a cluster that has left gitops mode, for the way back.
  if (row.connectivity_mode !== 'gitops') return undefined;
  if (row.repository_id === null || row.git_directory === null) return undefined;
  const repository = await findRepositoryById(deps.store.db, row.repository_id);
  if (repository === undefined) return undefined;
  return {
    repository: localName(repository),
    url: repository.embedded === 1 ? repositoryUrl(deps.baseUrl(), repository.name) : repository.url,
    branch: repository.branch,
    path: row.git_directory,
    ...gitSettingsOf(row),
  };
}

/** What the operator reported of its Cluster resource; the latest of each type where the resource was made anew. */
async function reportedConditions(db: Kysely<Database>, clusterId: string): Promise<Condition[]> {
  const rows = await db
    .selectFrom('resource_conditions')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('kind', '=', 'Cluster')
    .where('type', 'not in', ['Connected', 'Disconnected'])
    .orderBy(reportedWhen('resource_conditions'))
    .orderBy('updated_at')
    .execute();
  const latest = new Map(rows.map((row) => [row.type, conditionOf(row)]));
  return [...latest.values()].sort((a, b) => a.type.localeCompare(b.type));
}
