import type { Kysely } from 'kysely';
import type { IntentRequest } from '../intent/intent-request.ts';
import type { PolicyContext } from '../intent/policy-context.ts';
import { BUILT_IN_TEMPLATES } from '../operation-templates/built-in-templates.ts';
import { AppError } from '../protocol/app-error.ts';
import { dependencyCircle } from './dependency-circle.ts';
import { judgeParameters } from './judge-parameters.ts';
import { gitSettingsOf } from './git/git-settings.ts';
import { lastStandingIntentOf, targetKindOf, type IntentTarget } from './store/intents.ts';
import { findDefinitions, operationTemplateNames } from './store/operation-templates.ts';
import { olderProposals } from './store/proposals.ts';
import { isReportedUnasked, reportedGenerationOf } from './store/reported-generations.ts';
import type { ClusterRow, Database, IntentRow } from './store/schema.ts';

/** What an intent is judged against and carries values from. */
export interface IntentBase {
  /** The newest intent of the object that stands. */
  readonly standing: IntentRow | undefined;
  /** Id of a proposal or an approval about the object that is not decided yet. */
  readonly undecided: string | undefined;
  /** What `dependsOn` of the request would close on the cluster. */
  readonly circle: readonly string[] | undefined;
  /** Of an operation: what is known of its template. */
  readonly templates: PolicyContext['templates'];
  /** Of an operation: the cluster has, or had, one of that name of which no intent here knows. */
  readonly isNameReported: boolean;
}

/**
 * What an intent builds on: what stands, and nothing that is only proposed or waits for an approval. Else the author of
 * undecided values could approve them in another's update that carries them on. An operation carries nothing and runs once, so its name is taken
 * by one that waits for approval, too.
 *
 * @param last the newest intent of the object
 * @throws AppError `conflict` for an update while a proposal of the object is being merged: it would be of what stood
 *   before, and take back what was just approved
 */
export async function baseOf(
  trx: Kysely<Database>,
  request: IntentRequest,
  cluster: ClusterRow,
  last: IntentRow | undefined,
): Promise<IntentBase> {
  const { action, namespace, name } = request;
  const circle = await dependencyCircle(trx, cluster, request);
  const templates = await templatesOf(trx, cluster, request);
  const target = { clusterId: cluster.id, kind: targetKindOf(action), namespace, name };
  const isNameReported = action === 'operate' && (await isNameTaken(trx, target, last));
  const others = { circle, templates, isNameReported };
  if (last === undefined) return { standing: undefined, undecided: undefined, ...others };
  const waiting = await olderProposals(trx, { ...last, generation: last.generation + 1 });
  const merging = waiting.find(({ state }) => state === 'merging');
  if (action === 'update' && merging !== undefined) {
    const message = `proposal ${merging.id} about ${namespace}/${name} is being merged; ask for the update when it is`;
    throw new AppError('conflict', message, { extra: { proposalId: merging.id } });
  }
  const standing = await lastStandingIntentOf(trx, target, {
    upTo: action === 'operate' ? 'undecided' : 'merged',
    isReviewed: cluster.connectivity_mode === 'gitops' && gitSettingsOf(cluster).review === 'proposal',
  });
  return { standing, undecided: waiting[0]?.id ?? (await pendingApproval(trx, last)), ...others };
}

/** By one that was made by hand, or by an intent of after the backup that this control plane was restored from. */
async function isNameTaken(trx: Kysely<Database>, target: IntentTarget, last: IntentRow | undefined): Promise<boolean> {
  const reported = await reportedGenerationOf(trx, target);
  return reported > (last?.generation ?? 0) || (await isReportedUnasked(trx, target));
}

async function templatesOf(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  request: IntentRequest,
): Promise<PolicyContext['templates']> {
  const { operationTemplate: name } = request;
  if (name === undefined) return undefined;
  const [definition] = await findDefinitions(trx, cluster.organization_id, [name]);
  const own = await operationTemplateNames(trx, cluster.organization_id);
  return judgeParameters(request, definition, [...new Set([...Object.keys(BUILT_IN_TEMPLATES), ...own])]);
}

/** Of an intent about the object that waits for its approval, and for no proposal. */
async function pendingApproval(trx: Kysely<Database>, last: IntentRow): Promise<string | undefined> {
  const row = await trx
    .selectFrom('approvals')
    .innerJoin('intents', 'intents.id', 'approvals.intent_id')
    .select('approvals.id')
    .where('approvals.cluster_id', '=', last.cluster_id)
    .where('approvals.state', '=', 'pending')
    .where('intents.state', '=', 'accepted')
    .where('intents.target_kind', '=', last.target_kind)
    .where('intents.namespace', '=', last.namespace)
    .where('intents.name', '=', last.name)
    .orderBy('intents.generation', 'desc')
    .executeTakeFirst();
  return row?.id;
}
