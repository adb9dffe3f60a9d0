import type { RunningControlPlane } from '../running-control-plane.ts';

/** An open proposal by `somebody`, as rows alone: nothing in Git stands behind it. Answers its id. */
export async function storeProposal(plane: RunningControlPlane, clusterId: string, name: string): Promise<string> {
  const [cluster] = plane.query('SELECT organization_id, repository_id FROM clusters WHERE id = ?', clusterId);
  const organizationId = String(cluster?.['organization_id']);
  const at = '2026-11-28T10:00:00.000Z';
  const intentId = `int-${clusterId}-${name}`;
  await plane.execute(
    `INSERT INTO intents (id, organization_id, cluster_id, target_kind, namespace, name, generation, action, record,
       idempotency_key, state, requested_by, accepted_at)
     VALUES (?, ?, ?, 'ApplicationInstance', 'shop', ?, 1, 'install', '{}', ?, 'proposed', 'somebody', ?)`,
    intentId,
    organizationId,
    clusterId,
    name,
    intentId,
    at,
  );
  await plane.execute(
    `INSERT INTO proposals (id, organization_id, cluster_id, repository_id, intent_id, state, title, branch, author, pins,
       revision, head_commit, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, 'open', 'install', ?, 'somebody', '[{"path":"shop/x.yaml","after":"1"}]', 1, 'abc', ?, ?)`,
    `prop-${name}`,
    organizationId,
    clusterId,
    String(cluster?.['repository_id']),
    intentId,
    `proposals/x/${intentId}`,
    at,
    at,
  );
  return `prop-${name}`;
}
