import type { Kysely } from 'kysely';
import { decidePush } from '../../delivery/push/decide-push.ts';
import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { managerIn } from '../../kube/give-up-fields.ts';
import { conflictMessage, isFieldConflict } from '../../kube/read-failure.ts';
import { refOf, type KubeObject } from '../../resources/kube-object.ts';
import { FIELD_MANAGER, PUSH_FIELD_MANAGER } from '../../resources/labels.ts';
import { eachBounded } from '../push/each-bounded.ts';
import { listed } from '../push/probe-rights.ts';
import type { SwitchProbe } from '../push/switch-probe.ts';
import { renderQueued } from '../render-queued.ts';
import type { ClusterRow, Database, IntentRow } from '../store/schema.ts';

const NAME = 'conflicts';
/** Each is two requests. */
const MAX_TRIED = 100;
const WITHIN_MS = 20_000;

/**
 * Whether the API server would take what is handed over from the control plane: an apply of each object that is checked and
 * stored nowhere. Fields of the operator's payload become the control plane's before the first write, so they are no
 * conflict; those of other managers refuse the object, and with it the switch. Rejects only when aborted.
 */
export async function probeConflicts(
  { db, api }: { readonly db: Kysely<Database>; readonly api: Pick<ClusterApi, 'get' | 'apply'> },
  cluster: ClusterRow,
  intents: readonly Pick<IntentRow, 'id' | 'action'>[],
  signal: AbortSignal,
): Promise<SwitchProbe> {
  const applied = intents.filter(({ action }) => action !== 'uninstall');
  const tried = await objectsOf(
    db,
    cluster,
    applied.slice(0, MAX_TRIED).map(({ id }) => id),
  );
  const ends = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]);
  try {
    const answers = await eachBounded(tried, async (object) => await conflictOf(api, object, cluster.id, ends));
    const refused = answers.filter((answer) => answer !== undefined);
    if (refused.length > 0) {
      return { name: NAME, ok: false, message: `the switch would be refused and go back: ${listed(refused)}` };
    }
    const rest = applied.length - tried.length;
    const more = rest > 0 ? `; ${rest} more were not tried` : '';
    return {
      name: NAME,
      ok: true,
      message: `an apply of ${tried.length === 1 ? '1 object' : `${tried.length} objects`} meets no other field manager${more}`,
    };
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    const warning = `it is not known whether other field managers own what is handed over: ${why}`;
    return { name: NAME, ok: true, message: 'not all objects were tried', warning };
  }
}

/** As they would be handed over, rendered with what their first delivery was rendered with. */
async function objectsOf(db: Kysely<Database>, cluster: ClusterRow, ids: readonly string[]): Promise<KubeObject[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('intents').selectAll().where('id', 'in', ids).execute();
  const { slug, git_settings, repository_id } = cluster;
  const next = { slug, git_settings, repository_id, delivery_epoch: cluster.delivery_epoch + 1 };
  const queued = rows.map((row) => ({ ...row, ...next, connectivity_mode: 'push' as const, handover: 'dry-run' }));
  const { rendered } = await renderQueued(db, queued);
  return rendered.flatMap((item) => (item.kind === 'apply' ? [item.object] : []));
}

/** @returns why the object would be refused */
async function conflictOf(
  api: Pick<ClusterApi, 'get' | 'apply'>,
  desired: KubeObject,
  clusterId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { kind, metadata } = desired;
  const at = `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
  const live = await api.get<KubeObject>(refOf(desired), signal);
  const decision = decidePush({ desired, live, clusterId, isHandover: true });
  if (decision.kind === 'end') {
    return decision.pushed.state === 'refused' ? `${at}: ${decision.pushed.message}` : undefined;
  }
  try {
    await api.apply(decision.manifest, { fieldManager: PUSH_FIELD_MANAGER, dryRun: true }, signal);
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeError) || error.retryable || error.status === 401) throw error;
    if (!isFieldConflict(error)) return undefined;
    const causes = error.causes.filter(({ message }) => managerIn(message) !== FIELD_MANAGER);
    if (causes.length === 0) return undefined;
    const { status, reason, message } = error;
    return `${at}: ${conflictMessage(new KubeError(message, { status, reason, causes }), live, PUSH_FIELD_MANAGER)}`;
  }
}
