import { hash } from 'node:crypto';

export type ObjectType = 'commit' | 'tree' | 'blob';

/** The old id of a branch that does not exist yet (gitprotocol-pack). */
export const ZERO_ID = '0'.repeat(40);

/** Object id of no entries at all. */
export const EMPTY_TREE_ID = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

/** A new object, ready for a pack. `base` is an object that the receiver holds and that differs little from it. */
export interface NewObject {
  readonly type: ObjectType;
  readonly id: string;
  readonly bytes: Buffer;
  readonly base?: { readonly id: string; readonly bytes: Buffer };
}

/** SHA-1 id of an object in Git's own form, in hex. */
export function objectId(type: ObjectType, bytes: Uint8Array): string {
  const head = Buffer.from(`${type} ${bytes.length}\0`, 'latin1');
  return hash('sha1', Buffer.concat([head, bytes]), 'hex');
}

export function isObjectId(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}
