import type { Tombstone } from '../../src/intent/rendered.ts';
import { objectIdempotencyKey } from '../../src/protocol/idempotency-key.ts';
import { signPayload } from '../../src/protocol/payload-signature.ts';
import type { SigningKey } from '../../src/protocol/signing-key.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { signedContent, signedContext, withSignature } from '../../src/resources/signed-object.ts';
import { CLUSTER_ID } from '../reconcile/manifests.ts';
import { controlPlaneKey } from './signed-approval.ts';

/** The object as the control plane delivers it. */
export async function signed<T extends KubeObject>(
  object: T,
  { key = controlPlaneKey, clusterId = CLUSTER_ID }: { readonly key?: SigningKey; readonly clusterId?: string } = {},
): Promise<T> {
  const context = signedContext(object);
  if (context === undefined) throw new Error('the object has no source annotation');
  const header = { ...context, cluster_id: clusterId };
  return withSignature(object, await signPayload({ payload: signedContent(object), key, header })) as T;
}

/** The tombstone as the control plane puts it into Git. */
export async function signedTombstone(tombstone: Tombstone): Promise<Tombstone> {
  const { kind, namespace, name, generation } = tombstone;
  const idempotencyKey = objectIdempotencyKey(kind, namespace, name, generation);
  const header = { kind: 'delete', idempotencyKey, cluster_id: CLUSTER_ID } as const;
  return { ...tombstone, signature: await signPayload({ payload: tombstone, key: controlPlaneKey, header }) };
}
