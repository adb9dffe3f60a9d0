import type { Tombstone } from '../intent/rendered.ts';
import { objectIdempotencyKey } from '../protocol/idempotency-key.ts';
import { PayloadSignatureError, verifyPayload, type PayloadContext } from '../protocol/payload-signature.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { SIGNATURE_ANNOTATION, SOURCE_ANNOTATION } from '../resources/labels.ts';
import { signedContent, signedContext } from '../resources/signed-object.ts';
import type { ClusterPolicy } from './cluster-policy.ts';

export type SignatureState =
  | { readonly state: 'valid' }
  /** `missing`: there is none, or no key to verify it with; `invalid`: it is not that of the control plane over this. */
  | { readonly state: 'missing' | 'invalid'; readonly message: string };

type Keys = Pick<ClusterPolicy, 'clusterId' | 'signingKeys'>;

const VALID: SignatureState = { state: 'valid' };
const NO_KEY =
  'the signature cannot be verified: the control plane has not given this cluster its public key (status.odooPublicKey of the Cluster)';

/** What an object's annotation `app.service.io/signature` proves. */
export async function judgeSignature(object: KubeObject, keys: Keys): Promise<SignatureState> {
  const jws = object.metadata.annotations?.[SIGNATURE_ANNOTATION];
  if (jws === undefined) {
    return {
      state: 'missing',
      message: `it carries no signature of the control plane (annotation ${SIGNATURE_ANNOTATION})`,
    };
  }
  const context = signedContext(object);
  if (context === undefined) {
    const message = `it carries a signature, and no annotation ${SOURCE_ANNOTATION} that the signature is over`;
    return { state: 'invalid', message };
  }
  return await judge(jws, signedContent(object), context, keys);
}

/** What a tombstone's `signature` proves. */
export async function judgeTombstone({ signature, ...tombstone }: Tombstone, keys: Keys): Promise<SignatureState> {
  if (signature === undefined) {
    return { state: 'missing', message: 'the tombstone carries no signature of the control plane' };
  }
  const { kind, namespace, name, generation } = tombstone;
  const idempotencyKey = objectIdempotencyKey(kind, namespace, name, generation);
  return await judge(signature, tombstone, { kind: 'delete', idempotencyKey }, keys);
}

async function judge(
  jws: string,
  payload: unknown,
  context: Pick<PayloadContext, 'kind' | 'idempotencyKey'>,
  { clusterId, signingKeys }: Keys,
): Promise<SignatureState> {
  if (signingKeys.length === 0) return { state: 'missing', message: NO_KEY };
  try {
    await verifyPayload({ jws, payload, keys: signingKeys, expected: { ...context, cluster_id: clusterId } });
    return VALID;
  } catch (error) {
    if (!(error instanceof PayloadSignatureError)) throw error;
    return { state: 'invalid', message: `its signature is not good: ${error.message}` };
  }
}
