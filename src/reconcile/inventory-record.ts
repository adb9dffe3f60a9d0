import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import type { ObjectRef } from '../resources/kube-object.ts';

const Identity = {
  apiVersion: Type.String({ minLength: 1 }),
  kind: Type.String({ minLength: 1 }),
  namespace: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
};

/** One object that the operator applied. Stands in the inventory under its UID. */
export const InventoryRecord = Type.Object({
  ...Identity,
  uid: Type.String({ minLength: 1 }),
  epoch: Type.Integer({ minimum: 0 }),
  generation: Type.Integer({ minimum: 0 }),
  intentId: Type.Optional(Type.String()),
  /** What names it in its source: a path in Git, a job id; empty when it was found by its labels. */
  sourceKey: Type.String(),
  /** The transport and revision that brought this epoch and generation. */
  mode: Type.Optional(ConnectivityMode),
  revision: Type.Optional(Type.String()),
  /** Of the manifest as it was applied; empty when not known, and then it is applied again. */
  fingerprint: Type.String(),
  /** Of an operation: how far it is; absent: it has not begun. Written before it begins. */
  run: Type.Optional(Type.Union([Type.Literal('begun'), Type.Literal('ended')])),
});
export type InventoryRecord = Static<typeof InventoryRecord>;

/** The report of an end: what its event key and the fingerprint of its Ready condition are made of. */
export const ToldEnd = Type.Object({
  reason: Type.String({ maxLength: 64 }),
  message: Type.String({ maxLength: 2048 }),
  /** Transition time of the condition. */
  at: Type.String({ maxLength: 64 }),
  uid: Type.Optional(Type.String()),
  /** `metadata.generation` of the object. */
  generation: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type ToldEnd = Static<typeof ToldEnd>;

/** What is remembered of an object that is gone, so that an older manifest cannot bring it back. */
export const DeletedRecord = Type.Object({
  ...Identity,
  epoch: Type.Integer({ minimum: 0 }),
  generation: Type.Integer({ minimum: 0 }),
  /** The incarnation that went, where that is known. */
  uid: Type.Optional(Type.String()),
  /** RFC 3339; the oldest are forgotten first. */
  at: Type.String(),
  /** The intent whose tombstone asked for it, once the end of the object has been reported for it. */
  reportedFor: Type.Optional(Type.String()),
  /** How that was reported, so that it is the same event when it is reported once more. */
  told: Type.Optional(ToldEnd),
  /** It went because its file had vanished, which nobody had accepted. */
  pruned: Type.Optional(Type.Boolean()),
  /** How far an operation was that went; `lost`: it had begun and not ended, which was told. Absent: that is not known. */
  run: Type.Optional(
    Type.Union([Type.Literal('never'), Type.Literal('begun'), Type.Literal('ended'), Type.Literal('lost')]),
  ),
});
export type DeletedRecord = Static<typeof DeletedRecord>;

/** Data keys of the ConfigMaps: an object's UID, or this prefix and a number that is free. */
export const DELETED_PREFIX = 'deleted.';
/** Data key of what is to be known of the source as long as what came from it is applied. */
export const SOURCE_KEY = 'source';

const recordSchema = Compile(InventoryRecord);
const deletedSchema = Compile(DeletedRecord);

/** The record in a ConfigMap's entry, or undefined when the text is not one. */
export function parseRecord(text: string): InventoryRecord | undefined {
  const value = parseJson(text);
  return recordSchema.Check(value) ? value : undefined;
}

export function parseDeleted(text: string): DeletedRecord | undefined {
  const value = parseJson(text);
  return deletedSchema.Check(value) ? value : undefined;
}

/** Names an object whatever its version: a later version of a kind is the same object. */
export function objectKey(ref: ObjectRef): string {
  const group = ref.apiVersion.split('/')[0] ?? ref.apiVersion;
  return `${group}/${ref.kind}/${ref.namespace ?? ''}/${ref.name}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
