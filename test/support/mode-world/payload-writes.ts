import type { AuditedWrite } from '../../../src/sandbox/audit.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import {
  FIELD_MANAGER,
  PUSH_FIELD_MANAGER,
  SOURCE_ANNOTATION,
  TOMBSTONE_SOURCE_ANNOTATION,
} from '../../../src/resources/labels.ts';
import { parseSource, type SourcePair } from '../../../src/resources/source-annotation.ts';

/** Who brings payloads, as the field managers name them. */
export const WRITERS = [FIELD_MANAGER, PUSH_FIELD_MANAGER] as const;
export type Writer = (typeof WRITERS)[number];

/** A write that brings a payload, moves its ownership, marks an object as one to go, or asks it to go. */
export interface PayloadWrite {
  readonly what: 'apply' | 'move' | 'mark' | 'delete';
  readonly writer: Writer;
  /** `kind/name`, the kind in the plural as it is in the path. */
  readonly object: string;
  /** Of the object after it; absent after a delete that left nothing. */
  readonly uid: string | undefined;
  /** Of what was brought, or of the tombstone for which push mode marks an object. */
  readonly pair: SourcePair | undefined;
  /** What the control plane's database says at that moment; absent where nobody asked. */
  readonly fence?: Fence;
}

/** Who may write to a cluster at a moment. */
export interface Fence {
  readonly epoch: number;
  /** While nothing is delivered: those of the way that is left, whose last writes may be on their way. */
  readonly writers: readonly Writer[];
  readonly isHeld: boolean;
}

const PATH = /\/namespaces\/[^/]+\/(applicationinstances|operations)(?:\/([^/]+))?$/;

/** A write of a whole payload that another one could contradict; status, metadata of the operator's own and dry runs are none. */
export function payloadWriteOf(write: AuditedWrite): PayloadWrite | undefined {
  const { method, path, query, body, answer } = write;
  const [, kind, name = answer.metadata?.name] = PATH.exec(path) ?? [];
  if (kind === undefined || name === undefined || query.get('dryRun') !== null) return undefined;
  const writer = writerOf(write);
  if (writer === undefined) return undefined;
  const uid = answer.kind === 'Status' ? undefined : answer.metadata.uid;
  const about = { writer, object: `${kind}/${name}`, uid };
  if (method === 'DELETE') return { ...about, what: 'delete', pair: undefined };
  if (body.includes('/metadata/managedFields')) return { ...about, what: 'move', pair: undefined };
  if (body.includes('app.service.io/tombstone') && method === 'PATCH' && !isApply(write)) {
    const { metadata } = JSON.parse(body) as Partial<KubeObject>;
    return { ...about, what: 'mark', pair: parseSource(metadata?.annotations?.[TOMBSTONE_SOURCE_ANNOTATION]) };
  }
  if (!isPayloadManager(query.get('fieldManager')) || !(isApply(write) || method === 'POST')) return undefined;
  const brought = JSON.parse(body) as KubeObject;
  return { ...about, what: 'apply', pair: parseSource(brought.metadata.annotations?.[SOURCE_ANNOTATION]) };
}

/** What contradicts "one writer at any time, and the epoch never goes back", in words; empty where all is well. */
export function secondWriters(writes: readonly PayloadWrite[]): string[] {
  const faults: string[] = [];
  let newest: { readonly epoch: number; readonly writer: Writer } | undefined;
  for (const [index, { what, writer, object, pair, fence }] of writes.entries()) {
    const at = `write ${index} (${what} of ${object} by ${writer})`;
    if (what === 'apply' && pair === undefined) faults.push(`${at} has no place in the order`);
    if (fence?.writers.includes(writer) === false) {
      const state = fence.isHeld ? 'held' : 'open';
      faults.push(`${at} when only ${fence.writers.join(' and ')} may write, epoch ${fence.epoch}, ${state}`);
    }
    // A delete names no epoch, nor does the operator's mark: theirs is that of the fence, unless the one before may still be at it.
    const epoch = pair?.epoch ?? (fence?.isHeld === false && what !== 'move' ? fence.epoch : undefined);
    if (epoch === undefined) {
      if (newest !== undefined && writer !== newest.writer && what !== 'move') {
        faults.push(`${at} although ${newest.writer} writes since epoch ${newest.epoch}`);
      }
      continue;
    }
    if (newest !== undefined && epoch < newest.epoch) faults.push(`${at} under epoch ${epoch} after ${newest.epoch}`);
    if (newest !== undefined && epoch === newest.epoch && writer !== newest.writer) {
      faults.push(`${at} under epoch ${epoch}, under which ${newest.writer} writes`);
    }
    if (newest === undefined || epoch > newest.epoch) newest = { epoch, writer };
  }
  return faults;
}

function writerOf({ userAgent, query }: AuditedWrite): Writer | undefined {
  const manager = query.get('fieldManager');
  if (manager?.startsWith(PUSH_FIELD_MANAGER) === true) return PUSH_FIELD_MANAGER;
  if (manager?.startsWith(FIELD_MANAGER) === true) return FIELD_MANAGER;
  return WRITERS.find((writer) => userAgent?.startsWith(writer) === true);
}

function isPayloadManager(name: string | null): boolean {
  return WRITERS.some((writer) => writer === name);
}

function isApply({ contentType }: AuditedWrite): boolean {
  return contentType?.startsWith('application/apply-patch') === true;
}
