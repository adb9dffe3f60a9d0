import { Type, type Static } from 'typebox';
import { INTENT_ID_PATTERN } from '../resources/intent-ids.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import type { IntentRecord } from './intent-record.ts';

/** Rendered manifests are at most 512 KiB (decisions, "Jobs"). */
export const MAX_MANIFEST_BYTES = 512 * 1024;

/** Whom a manifest is rendered for. The `slug` names the cluster's directory in Git. */
export interface RenderTarget {
  readonly clusterId: string;
  readonly slug: string;
  readonly deliveryEpoch: number;
}

/** What replaces the manifest of an uninstalled object in Git; the operator deletes what it names and nothing else. */
export const Tombstone = Type.Object({
  apiVersion: Type.String({ minLength: 1 }),
  kind: Type.String({ minLength: 1 }),
  namespace: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  /** The object's UID where the control plane has been told it; then only that incarnation is deleted. */
  uid: Type.Optional(Type.String({ minLength: 1 })),
  intentId: Type.String({ pattern: INTENT_ID_PATTERN }),
  epoch: Type.Integer({ minimum: 1 }),
  generation: Type.Integer({ minimum: 1 }),
  /** RFC 3339; kept in Git for 90 days from then. */
  time: Type.String({ minLength: 1 }),
  /** The control plane's signature over all the rest (kind `delete`, the key of the intent). */
  signature: Type.Optional(Type.String({ minLength: 1, maxLength: 8192 })),
});
export type Tombstone = Static<typeof Tombstone>;

/** An intent, rendered: the same bytes whichever side renders. `text` is what stands in Git (YAML, or JSON for a tombstone). */
export type Rendered =
  | {
      readonly kind: 'apply';
      readonly intent: IntentRecord;
      readonly target: RenderTarget;
      readonly idempotencyKey: string;
      readonly object: KubeObject;
      readonly text: string;
    }
  | {
      readonly kind: 'delete';
      readonly intent: IntentRecord;
      readonly target: RenderTarget;
      readonly idempotencyKey: string;
      readonly tombstone: Tombstone;
      readonly text: string;
    };
