import type { JsonPatchOperation } from '../../../kube/cluster-api.ts';
import type { KubeObject } from '../../../resources/kube-object.ts';
import type { OperationRun } from '../template-runner.ts';

/** Of what an operation changes on an object that others own. */
export const OPERATION_FIELD_MANAGER = 'service-operator-operations';

/**
 * On a workload: the operation that scaled, or restarted, it last, as `<when it began> <its UID>`, and who had set the number
 * of replicas before. By it an operation that is begun again after a crash knows that it has had its effect, and of two that
 * run at once the earlier one gives way, so that they do not take the workload back and forth.
 */
export const LAST_SCALE_ANNOTATION = 'ops.service.io/last-scale';
export const LAST_RESTART_ANNOTATION = 'ops.service.io/last-restart';

export function markOf({ operation, startedAt }: Pick<OperationRun, 'operation' | 'startedAt'>): string {
  return `${startedAt.toISOString()} ${operation.metadata.uid ?? ''}`;
}

/** How far two leaders' clocks may be apart. A mark from further in the future is nobody's that runs now. */
const MAX_SKEW_MS = 60_000;

/** How the object's mark stands to this operation: none of its own yet, its own, or that of one that began later. */
export function markOn(
  live: KubeObject,
  annotation: string,
  run: Pick<OperationRun, 'operation' | 'startedAt' | 'now'>,
): 'before' | 'own' | 'later' {
  const text = live.metadata.annotations?.[annotation] ?? '';
  const [, mark, began = ''] = /^((\d{4}-\d\d-\d\dT\S+Z) [^ ]+)/.exec(text) ?? [];
  const own = markOf(run);
  if (mark === undefined || mark < own) return 'before';
  if (mark === own) return 'own';
  const isBelieved = Date.parse(began) <= run.now.getTime() + MAX_SKEW_MS;
  return isBelieved ? 'later' : 'before';
}

/** The words of the mark after time and UID. */
export function noteOn(live: KubeObject, annotation: string): string {
  return (live.metadata.annotations?.[annotation] ?? '').split(' ').slice(2).join(' ');
}

/** Sets one annotation where `metadata` stands at `path`; a JSON patch adds no member to what is not there. */
export function annotate(
  path: string,
  metadata: { readonly annotations?: Readonly<Record<string, string>> } | null | undefined,
  name: string,
  value: string,
): JsonPatchOperation[] {
  const key = name.replaceAll('~', '~0').replaceAll('/', '~1');
  return [
    ...(metadata === undefined || metadata === null ? [{ op: 'add' as const, path, value: {} }] : []),
    ...(metadata?.annotations === undefined ? [{ op: 'add' as const, path: `${path}/annotations`, value: {} }] : []),
    { op: 'add', path: `${path}/annotations/${key}`, value },
  ];
}

/** The field managers that own a field of the object, the operations' own left out. */
export function ownersOf(live: KubeObject, path: readonly string[]): readonly string[] {
  const owners = (live.metadata.managedFields ?? []).filter(({ fieldsV1 }) => {
    let at: unknown = fieldsV1;
    for (const field of path) at = (at as Readonly<Record<string, unknown>> | undefined)?.[`f:${field}`];
    return at !== undefined;
  });
  const names = owners.flatMap(({ manager }) => manager ?? []);
  return [...new Set(names)].filter((manager) => manager !== OPERATION_FIELD_MANAGER);
}
