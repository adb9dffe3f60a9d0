import { holdsChartValues } from '../../protocol/chart-values.ts';
import { encryptTo } from '../../protocol/jwe.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import type { Job } from '../../protocol/job.ts';
import type { PublicJwk } from '../../protocol/register.ts';
import { securityOf } from '../cluster-settings.ts';
import type { PayloadSigner } from '../payload-signer.ts';
import type { ClusterRow, JobRow } from '../store/schema.ts';
import { storedPublicKey } from '../stored-public-key.ts';

/** Why a job cannot travel as its cluster requires. It will not be otherwise at the next poll: the job has failed. */
export class JobNotDeliverable extends Error {}

export const ENCRYPTION_KEY_MISSING = 'EncryptionKeyMissing';

/**
 * A job as it is handed out: signed, and encrypted where the cluster requires it of payloads that hold
 * chart values. The signature is over the plain payload
 * (sign, then encrypt).
 *
 * @throws JobNotDeliverable when the cluster requires encryption and has registered no key, or none that can be used
 */
export async function toWireJob(
  row: JobRow,
  cluster: Pick<ClusterRow, 'id' | 'security' | 'public_key'>,
  signer: Pick<PayloadSigner, 'sign'>,
): Promise<Job> {
  const payload = parseExactJson(row.payload) as Record<string, unknown>;
  const { kind, idempotency_key: idempotencyKey, expires_at: expiresAt } = row;
  const signature = await signer.sign(cluster.id, payload, { kind, idempotencyKey, expiresAt });
  return {
    id: row.id,
    kind,
    ...(securityOf(cluster).requireEncryptedSecretPayloads && holdsChartValues(kind, payload)
      ? { encryptedPayload: await encryptTo(keyOf(cluster), row.payload) }
      : { payload }),
    idempotencyKey,
    createdAt: row.created_at,
    expiresAt,
    signature,
    deliveryEpoch: row.delivery_epoch,
    generation: row.generation,
    intentId: row.intent_id,
  };
}

function keyOf(cluster: Pick<ClusterRow, 'public_key'>): PublicJwk {
  const key = storedPublicKey(cluster.public_key);
  if (key !== undefined) return key;
  const what = cluster.public_key === null ? 'has registered no key' : 'has a key that nothing can be encrypted to';
  throw new JobNotDeliverable(
    `${ENCRYPTION_KEY_MISSING}: the cluster requires encrypted payloads and ${what}; register it again with one`,
  );
}
