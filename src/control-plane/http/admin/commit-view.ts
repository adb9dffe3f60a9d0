import { trustedSigners, verifyCommit } from '../../../git/signing/commit-signature.ts';
import { reasonOf, type DescribedCommit } from '../../history/describe-commits.ts';
import { findIntentOf } from '../../store/intents.ts';
import type { IntentRow } from '../../store/schema.ts';
import type { AdminDeps } from './admin-deps.ts';
import { conditionOf, ifKnown } from './cluster-view.ts';
import { viewIntent } from './intents.ts';
import { viewJob } from './jobs.ts';

/** A commit as lists show it. */
export function viewCommit({ intent, parents, kind, clusterSlug, ...commit }: DescribedCommit) {
  const person = ({ name, email }: { readonly name: string; readonly email: string }) => ({ name, email });
  return {
    id: commit.id,
    kind,
    parents,
    subject: commit.subject,
    ...(commit.body === '' ? {} : { body: commit.body }),
    author: person(commit.author),
    committer: person(commit.committer),
    at: commit.committer.at,
    trailers: commit.trailers,
    ...(clusterSlug === undefined ? {} : { clusterSlug }),
    ...(intent === undefined ? {} : { intent: intentInShort(intent) }),
  };
}

function intentInShort(intent: IntentRow) {
  const reason = reasonOf(intent);
  return {
    id: intent.id,
    action: intent.action,
    namespace: intent.namespace,
    name: intent.name,
    generation: intent.generation,
    state: intent.state,
    requestedBy: intent.requested_by,
    ...(reason === undefined ? {} : { requestReason: reason }),
    ...ifKnown('appliedAt', intent.applied_at),
    ...ifKnown('readyAt', intent.ready_at),
  };
}

/** What became of the intent of a commit: its receipt, its jobs, and how its object stands now. Nothing of its values. */
export async function commitStory(deps: Pick<AdminDeps, 'store'>, commit: DescribedCommit) {
  const { intent } = commit;
  if (intent === undefined) return {};
  const { db } = deps.store;
  const found = await findIntentOf(db, intent.organization_id, intent.id);
  const jobs = await db
    .selectFrom('jobs')
    .selectAll()
    .where('cluster_id', '=', intent.cluster_id)
    .where('intent_id', '=', intent.id)
    .orderBy('created_at', 'desc')
    .limit(20)
    .execute();
  const reported = await db
    .selectFrom('resource_conditions')
    .selectAll()
    .where('cluster_id', '=', intent.cluster_id)
    .where('kind', '=', intent.target_kind)
    .where('namespace', '=', intent.namespace)
    .where('name', '=', intent.name)
    .orderBy('updated_at', 'desc')
    .limit(50)
    .execute();
  const [newest] = reported;
  return {
    ...(found === undefined ? {} : { intent: viewIntent(found) }),
    jobs: jobs.map(viewJob),
    // Of objects that had this name after each other, the last one.
    status: reported.filter(({ uid }) => uid === newest?.uid).map(conditionOf),
  };
}

/** Whether a key that counts in the organization has signed it. */
export async function signatureOf(deps: Pick<AdminDeps, 'commitSigning'>, organizationId: string, bytes: Buffer) {
  const verdict = verifyCommit(bytes, trustedSigners(await deps.commitSigning.allowedSigners(organizationId)));
  return verdict.state === 'trusted'
    ? { state: 'trusted' as const, principal: verdict.signer.principal }
    : { state: 'refused' as const, why: verdict.why };
}
