import type { RunningControlPlane } from '../running-control-plane.ts';

/** An operation by `somebody` that waits for its approval, as rows alone. Answers the ids of both. */
export async function storeApproval(
  plane: RunningControlPlane,
  clusterId: string,
  name: string,
): Promise<{ readonly intent: string; readonly approval: string }> {
  const [cluster] = plane.query('SELECT organization_id FROM clusters WHERE id = ?', clusterId);
  const organizationId = String(cluster?.['organization_id']);
  const at = new Date().toISOString();
  const intent = `int-${clusterId}-${name}`;
  const approval = `apr-${clusterId}-${name}`;
  const record = { action: 'operate', namespace: 'shop', name, operationTemplate: 'rollout-restart' };
  await plane.execute(
    `INSERT INTO intents (id, organization_id, cluster_id, target_kind, namespace, name, generation, action, record,
       idempotency_key, state, requested_by, accepted_at, awaits_approval)
     VALUES (?, ?, ?, 'Operation', 'shop', ?, 1, 'operate', ?, ?, 'accepted', 'somebody', ?, 1)`,
    intent,
    organizationId,
    clusterId,
    name,
    JSON.stringify(record),
    intent,
    at,
  );
  await plane.execute(
    `INSERT INTO approvals (id, organization_id, cluster_id, intent_id, state, required, spec_hash, requested_by,
       requested_at, expires_at)
     VALUES (?, ?, ?, ?, 'pending', '{"count":1}', 'sha256-x', 'somebody', ?, '2999-01-01T00:00:00.000Z')`,
    approval,
    organizationId,
    clusterId,
    intent,
    at,
  );
  return { intent, approval };
}
