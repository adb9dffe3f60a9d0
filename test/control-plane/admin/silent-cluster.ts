import type { RunningControlPlane } from '../running-control-plane.ts';
import { registerAgent } from './running-agent.ts';

/** A registered cluster that nothing was heard of for a day, so that its switches wait. Answers its id. */
export async function silentCluster(
  plane: RunningControlPlane,
  slug: string,
  connectivityMode = 'gitops',
  { key = {}, git }: { readonly key?: Record<string, unknown>; readonly git?: object } = {},
): Promise<string> {
  const id = await plane.newCluster(slug, { connectivityMode, ...(git === undefined ? {} : { git }) });
  await registerAgent(plane, slug, key);
  await plane.execute(
    `UPDATE clusters SET last_contact_at = '2026-01-01T00:00:00.000Z', disconnected_at = '2026-01-02T00:00:00.000Z'
      WHERE id = ?`,
    id,
  );
  return id;
}
