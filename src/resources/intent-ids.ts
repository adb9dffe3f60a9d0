import type { KubeObject } from './kube-object.ts';
import { INTENT_ID_ANNOTATION, TOMBSTONE_ANNOTATION } from './labels.ts';

/** What a status, an event and the inventory can hold; annotations may say anything, at any length. */
export const INTENT_ID_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';

const intentId = new RegExp(INTENT_ID_PATTERN);

/** The intent that the object's spec was rendered from; undefined where the annotation is none, or no intent's id. */
export function intentIdOf(object: Pick<KubeObject, 'metadata'>): string | undefined {
  return wellFormed(object.metadata.annotations?.[INTENT_ID_ANNOTATION]);
}

/** The intent whose tombstone asked for the object's end; undefined where a person wrote something else there. */
export function tombstoneIntentOf(object: Pick<KubeObject, 'metadata'>): string | undefined {
  return wellFormed(object.metadata.annotations?.[TOMBSTONE_ANNOTATION]);
}

/** In place of a tombstone's intent: the file of the object was removed from Git. The revision that lacks it stands behind. */
export const PRUNED_MARK = 'pruned:';

export function isPruned(object: Pick<KubeObject, 'metadata'>): boolean {
  return object.metadata.annotations?.[TOMBSTONE_ANNOTATION]?.startsWith(PRUNED_MARK) === true;
}

function wellFormed(text: string | undefined): string | undefined {
  return text !== undefined && intentId.test(text) ? text : undefined;
}

/** `int-`, ten characters of time, sixteen that are random (`newId`): ids sort by when they were made. */
const MADE_ID = /^int-[0-9a-hjkmnp-tv-z]{26}$/;
const TIME_END = 'int-'.length + 10;

/** Whether an intent was accepted after another. What cannot be told is taken for older. */
export function isLaterIntent(id: string, other: string): boolean {
  if (!MADE_ID.test(id) || !MADE_ID.test(other)) return false;
  return id.slice(0, TIME_END) > other.slice(0, TIME_END);
}
