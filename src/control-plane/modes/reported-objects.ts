import type { Kysely } from 'kysely';
import type { EventSource } from '../../protocol/event.ts';
import { APPLICATION_INSTANCE_KIND } from '../../resources/application-instance.ts';
import { OPERATION_KIND } from '../../resources/operation.ts';
import { Reason } from '../../resources/reasons.ts';
import { reportedWhen } from '../store/reported-when.ts';
import type { Database, IntentRow, ResourceConditionRow } from '../store/schema.ts';

export type ObjectName = Pick<IntentRow, 'target_kind' | 'namespace' | 'name'>;

/** What the operator has last told of one object. */
export interface ReportedObject extends ObjectName {
  /** The highest that was ever told of an object by this name; 0: none, as of one that no delivery brought. */
  readonly generation: number;
  /** The last that was told is that it has gone: `deleted` by hand, or `uninstalled`. */
  readonly gone: 'deleted' | 'uninstalled' | undefined;
}

const GONE: Readonly<Record<string, ReportedObject['gone']>> = {
  [Reason.Orphaned]: 'deleted',
  [Reason.Uninstalled]: 'uninstalled',
};

/** What a cluster has told of the objects that intents are about, by `objectKeyOf`. One query. */
export async function reportedObjects(
  db: Kysely<Database>,
  clusterId: string,
): Promise<ReadonlyMap<string, ReportedObject>> {
  const rows = await db
    .selectFrom('resource_conditions')
    .select(['kind as target_kind', 'namespace', 'name', 'uid', 'type', 'status', 'reason', 'source'])
    .where('cluster_id', '=', clusterId)
    .where('kind', 'in', [APPLICATION_INSTANCE_KIND, OPERATION_KIND])
    .orderBy(reportedWhen('resource_conditions'))
    .orderBy('updated_at')
    .orderBy('uid')
    .execute();
  const byKey = new Map<string, (typeof rows)[number][]>();
  for (const row of rows) {
    const known = byKey.get(objectKeyOf(row));
    if (known === undefined) byKey.set(objectKeyOf(row), [row]);
    else known.push(row);
  }
  return new Map([...byKey].map(([key, told]) => [key, reportedOf(told)]));
}

export function objectKeyOf({ target_kind: kind, namespace, name }: ObjectName): string {
  return `${kind}/${namespace}/${name}`;
}

type Told = ObjectName & Pick<ResourceConditionRow, 'uid' | 'type' | 'status' | 'reason' | 'source'>;

/** @param told at least one, in the order of their reports */
function reportedOf(told: readonly Told[]): ReportedObject {
  const last = told.at(-1) as Told;
  const generations = told.map(({ source }) => (JSON.parse(source ?? '{}') as EventSource).generation ?? 0);
  const ready = told.findLast(({ uid, type }) => uid === last.uid && type === 'Ready');
  return {
    target_kind: last.target_kind,
    namespace: last.namespace,
    name: last.name,
    generation: Math.max(...generations),
    gone: ready?.status === 'False' ? GONE[ready.reason ?? ''] : undefined,
  };
}
