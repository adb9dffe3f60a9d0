import type { KubeObject, ManagedFieldsEntry } from '../resources/kube-object.ts';
import type { ClusterApi, JsonPatchOperation } from './cluster-api.ts';
import { asSeen, patchAsSeen } from './patch-as-seen.ts';

/** Who wrote an object's payload in the last mode, and who does in this one. */
export interface OwnershipMove {
  readonly from: string;
  readonly to: string;
}

/**
 * Gives the `Apply` entry of one field manager to another, so that the next apply of that one is the same writer's: what
 * it leaves out goes, and nothing is owned by both. Where the other has an entry already, the two become one. Every other
 * entry stays as it is: status (which servers before 1.22 mark by no subresource), updates, other people's.
 *
 * Undefined when there is nothing to move. Pure.
 */
export function ownershipPatch(
  live: KubeObject,
  { from, to }: OwnershipMove,
): readonly JsonPatchOperation[] | undefined {
  const entries = live.metadata.managedFields ?? [];
  const old = entries.findIndex((entry) => isPayloadOf(entry, from));
  if (old === -1) return undefined;
  const own = entries.findIndex((entry) => isPayloadOf(entry, to));
  const path = (index: number): string => `/metadata/managedFields/${index}`;
  return [
    asSeen(live),
    ...(own === -1
      ? [{ op: 'replace', path: `${path(old)}/manager`, value: to } as const]
      : [
          {
            op: 'replace',
            path: `${path(own)}/fieldsV1`,
            value: union(fieldsOf(entries[own]), fieldsOf(entries[old])),
          } as const,
          { op: 'remove', path: path(old) } as const,
        ]),
  ];
}

/**
 * Moves the ownership of a live object where that is still to do. Answers the same `live` when there was nothing to move;
 * else the object as it stands then, by which the caller judges anew; undefined when it is gone.
 *
 * @throws KubeError
 */
export async function moveOwnership(
  api: Pick<ClusterApi, 'get' | 'jsonPatch'>,
  live: KubeObject,
  move: OwnershipMove,
  signal?: AbortSignal,
): Promise<KubeObject | undefined> {
  // Changes no field, so nobody comes to own one; what the server changes with it (a default) is no part of the payload.
  const options = { fieldManager: `${move.to}-meta` };
  return await patchAsSeen(api, live, (object) => ownershipPatch(object, move), options, signal);
}

function isPayloadOf({ manager, operation, subresource = '' }: ManagedFieldsEntry, name: string): boolean {
  return manager === name && operation === 'Apply' && subresource === '';
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(entry: ManagedFieldsEntry | undefined): Fields {
  return entry?.fieldsV1 ?? {};
}

/** Field sets are trees in which a member is a field, an item or `.` (the thing itself): whatever is in either is in both. */
function union(a: Fields, b: Fields): Fields {
  const joined = new Map(Object.entries(a));
  for (const [key, below] of Object.entries(b)) {
    joined.set(key, union((joined.get(key) ?? {}) as Fields, below as Fields));
  }
  return Object.fromEntries(joined);
}
