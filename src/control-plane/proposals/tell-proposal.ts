import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import { APPLICATION_INSTANCE_KIND } from '../../resources/application-instance.ts';
import { APPS_API_VERSION, OPS_API_VERSION } from '../../resources/labels.ts';
import { messageText } from '../channel/message-text.ts';
import { appendAudit } from '../store/audit.ts';
import { insertMessages } from '../store/channel-messages.ts';
import { queueMessages } from '../store/channel-outbox.ts';
import type { Database, ProposalRow } from '../store/schema.ts';

/** Audit kinds of a proposal's life, which are the reasons of its messages in the discussion channel too, and their words. */
const WORDS = {
  ProposalOpened: 'is proposed and waits for approval',
  ProposalApproved: 'was approved',
  ProposalRejected: 'was rejected',
  ProposalCommented: 'was commented on',
  ProposalMerging: 'is approved and being merged',
  ProposalMerged: 'was merged',
  ProposalSuperseded: 'was superseded',
  ProposalMoved: 'is rendered again, since what it changes has changed; its approvals no longer count',
  ProposalNotApproved: 'is not approved any more and waits again',
  ProposalFailed: 'cannot be merged',
} as const satisfies Record<string, string>;
export type ProposalNews = keyof typeof WORDS;

/**
 * Audits what happened to a proposal and tells the discussion channel, in the transaction in which it happens.
 *
 * @param actor who did it; absent: nobody, it followed from something else
 * @param once tells two of the same kind apart; the same again is told once
 */
export async function tellProposal(
  trx: Kysely<Database>,
  row: Pick<ProposalRow, 'id' | 'organization_id' | 'cluster_id' | 'intent_id' | 'title'>,
  kind: ProposalNews,
  about: {
    readonly slug: string;
    readonly at: string;
    readonly actor?: string;
    readonly detail?: string;
    readonly once: string;
  },
): Promise<void> {
  const { slug, at, actor, detail = '', once } = about;
  const intent = await trx
    .selectFrom('intents')
    .select(['target_kind', 'namespace', 'name', 'record'])
    .where('id', '=', row.intent_id)
    .executeTakeFirstOrThrow();
  const says = `${WORDS[kind]}${actor === undefined ? '' : ` by ${actor}`}`;
  await appendAudit(trx, {
    organizationId: row.organization_id,
    at,
    source: 'user',
    kind,
    clusterId: row.cluster_id,
    ...(actor === undefined ? {} : { actor }),
    summary: `${slug}: proposal ${row.id} (${row.title}) ${says}`,
    intentId: row.intent_id,
    ...(detail === '' ? {} : { reason: detail }),
  });
  const { chartVersion: version } = JSON.parse(intent.record) as { readonly chartVersion?: string };
  const isInstance = intent.target_kind === APPLICATION_INSTANCE_KIND;
  const resourceRef = {
    apiVersion: isInstance ? APPS_API_VERSION : OPS_API_VERSION,
    kind: intent.target_kind,
    namespace: intent.namespace,
    name: intent.name,
  };
  const key = createHash('sha256').update(`${row.id}/${kind}/${once}`).digest().subarray(0, 18).toString('base64url');
  const inserted = await insertMessages(trx, [
    {
      message_key: `msg_${key}`,
      organization_id: row.organization_id,
      at,
      cluster_id: row.cluster_id,
      category: 'deploy',
      reason: kind,
      text: messageText({
        slug,
        resourceRef,
        reason: says,
        version,
        message: detail,
      }),
      resource_ref: JSON.stringify(resourceRef),
      told_by: `proposal/${kind}`,
      told_at: at,
      event_seq: null,
    },
  ]);
  if (inserted.length > 0) await queueMessages(trx, row.organization_id, inserted, at);
}
