import type { Kysely } from 'kysely';
import type { IntentAction } from '../../intent/intent-record.ts';
import { appendAudit } from '../store/audit.ts';
import type { ApprovalRow, Database, IntentRow } from '../store/schema.ts';

/** Which entry of the audit log tells what became of an approval. The discussion channel is not told: it has the outcome. */
const KINDS = {
  approved: { operate: 'OperationApproved', other: 'DeployApproved' },
  rejected: { operate: 'OperationRejected', other: 'DeployRejected' },
  expired: { operate: 'ApprovalExpired', other: 'ApprovalExpired' },
  refused: { operate: 'ApprovalRefused', other: 'ApprovalRefused' },
} as const;

/** Audits what happened to an approval, in the transaction in which it happens. Never the statement. */
export async function tellApproval(
  trx: Kysely<Database>,
  { row, intent, slug }: { readonly row: ApprovalRow; readonly intent: IntentRow; readonly slug: string },
  what: keyof typeof KINDS,
  about: { readonly at: string; readonly actor?: string; readonly says: string; readonly reason?: string | undefined },
): Promise<void> {
  const { at, actor, says, reason } = about;
  await appendAudit(trx, {
    organizationId: row.organization_id,
    at,
    source: 'user',
    kind: KINDS[what][intent.action === 'operate' ? 'operate' : 'other'],
    clusterId: row.cluster_id,
    ...(actor === undefined ? {} : { actor }),
    summary: `${slug}: ${objectOf(intent)} (approval ${row.id}) ${says}`,
    intentId: intent.id,
    ...(reason === undefined ? {} : { reason }),
  });
}

function objectOf({ action, namespace, name, record }: IntentRow): string {
  const { operationTemplate, chartVersion } = JSON.parse(record) as {
    readonly operationTemplate?: string;
    readonly chartVersion?: string;
  };
  const verb: Readonly<Record<IntentAction, string>> = {
    install: 'install',
    update: 'update',
    uninstall: 'uninstall',
    operate: operationTemplate ?? 'operate',
  };
  return `${verb[action]} ${namespace}/${name}${chartVersion === undefined ? '' : ` ${chartVersion}`}`;
}
