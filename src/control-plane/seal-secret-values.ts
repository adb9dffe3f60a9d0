import type { Kysely } from 'kysely';
import type { IntentRequest } from '../intent/intent-request.ts';
import { encryptTo, readSealedFor } from '../protocol/jwe.ts';
import { refusal } from '../protocol/parse.ts';
import type { PublicJwk } from '../protocol/register.ts';
import { sealedAudience } from '../resources/sealed-audience.ts';
import { findCluster } from './store/clusters.ts';
import { findOrganization } from './store/organizations.ts';
import type { ClusterRow, Database, IntentRow, OrganizationRow } from './store/schema.ts';
import { storedPublicKey } from './stored-public-key.ts';

/** The most that secret values may be as JSON. Sealed they must fit into a manifest with everything else. */
export const MAX_SECRET_VALUES_BYTES = 64 * 1024;

/** Secret values as they are stored: sealed, or not there. */
export interface SealedIntentValues {
  readonly sealedValues?: string;
  /** The same, sealed to the organization's recovery key, where it has one. */
  readonly recoveryValues?: string;
}

/** What an intent's secret values were sealed to, outside of the transaction that stores them. */
export interface Sealing {
  readonly values: SealedIntentValues;
  readonly publicKey: string | null;
  readonly recoveryKey: string | null;
}

type Recipients = Pick<ClusterRow, 'public_key'> & Pick<OrganizationRow, 'recovery_public_key'>;

/**
 * Seals `secretValues` to the cluster's key, bound to this cluster, namespace and name, and to the recovery key. Undefined
 * where there is nothing to seal. The plaintext goes no further than this.
 *
 * @throws AppError `constraint_violated`, which never holds a value
 */
export async function sealSecretValues(
  db: Kysely<Database>,
  clusterId: string,
  request: IntentRequest,
): Promise<Sealing | undefined> {
  const { secretValues, namespace, name } = request;
  if (secretValues === undefined) return undefined;
  const cluster = await findCluster(db, clusterId);
  const organization = cluster === undefined ? undefined : await findOrganization(db, cluster.organization_id);
  const publicKey = cluster?.public_key ?? null;
  const recoveryKey = organization?.recovery_public_key ?? null;
  const text = JSON.stringify(secretValues);
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes > MAX_SECRET_VALUES_BYTES) {
    const message = `are ${bytes} bytes as JSON; at most ${MAX_SECRET_VALUES_BYTES} bytes (64 KiB) are sealed`;
    throw refusal([{ path: '/secretValues', message, allowed: { maxBytes: MAX_SECRET_VALUES_BYTES } }]);
  }
  // An empty object says that there are to be none any more.
  if (Object.keys(secretValues).length === 0 || publicKey === null) return { values: {}, publicKey, recoveryKey };
  const aud = sealedAudience(clusterId, namespace, name);
  const recoveryValues =
    recoveryKey === null
      ? undefined
      : await encryptTo(
          usable(recoveryKey, "the organization's recovery key; make another: servicectl recovery-key create"),
          text,
          { aud },
        );
  const values = {
    sealedValues: await encryptTo(usable(publicKey, 'the key of this cluster; register it again'), text, { aud }),
    ...(recoveryValues === undefined ? {} : { recoveryValues }),
  };
  return { values, publicKey, recoveryKey };
}

/** @throws AppError `constraint_violated` */
function usable(json: string, whose: string): PublicJwk {
  const key = storedPublicKey(json);
  if (key !== undefined) return key;
  throw refusal([{ path: '/secretValues', message: `cannot be sealed: nothing can be encrypted to ${whose}` }]);
}

/** Whether the keys were replaced since the values were sealed to them. */
export function keysAreOlder(sealing: Sealing, now: Recipients): boolean {
  return sealing.publicKey !== now.public_key || sealing.recoveryKey !== now.recovery_public_key;
}

/**
 * The secret values that an intent is stored with: those of the request, sealed here or before; else, at an update, those of
 * the intent before it.
 *
 * @throws AppError `constraint_violated`: the cluster has no key to seal to, or what is sealed already is for another place
 */
export function valuesToStore(
  request: IntentRequest,
  sealing: Sealing | undefined,
  cluster: Pick<ClusterRow, 'id' | 'slug' | 'public_key'> & Recipients,
  last: Pick<IntentRow, 'action' | 'recovery_values'> | undefined,
  carried: string | undefined,
): SealedIntentValues {
  const { secretValues, sealedValues, recoveryValues } = request;
  if (secretValues !== undefined) {
    if (Object.keys(secretValues).length > 0 && cluster.public_key === null) throw noKey('/secretValues', cluster.slug);
    return sealing?.values ?? {};
  }
  if (sealedValues !== undefined) {
    checkSealed('/sealedValues', sealedValues, request, cluster, cluster.public_key);
    if (recoveryValues === undefined) return { sealedValues };
    checkSealed('/recoveryValues', recoveryValues, request, cluster, cluster.recovery_public_key);
    return { sealedValues, recoveryValues };
  }
  if (carried === undefined) return {};
  const recovery = last?.recovery_values ?? undefined;
  return { sealedValues: carried, ...(recovery === undefined ? {} : { recoveryValues: recovery }) };
}

/** What can be seen of a sealed text without opening it: whose key it is for, and which place. */
function checkSealed(
  path: string,
  sealed: string,
  { namespace, name }: IntentRequest,
  cluster: Pick<ClusterRow, 'id' | 'slug'>,
  key: string | null,
): void {
  if (key === null) throw noKey(path, cluster.slug);
  const { kid } = JSON.parse(key) as PublicJwk;
  const audience = sealedAudience(cluster.id, namespace, name);
  const fault = readSealedFor(sealed, { audience, ...(kid === undefined ? {} : { kid }) });
  if (fault !== undefined) throw refusal([{ path, message: fault }]);
}

function noKey(path: string, slug: string): Error {
  const message =
    path === '/recoveryValues'
      ? 'cannot be taken: this organization has no recovery key; make one with: servicectl recovery-key create'
      : `cannot be sealed: cluster ${slug} has not registered a public key yet; install its operator first: servicectl clusters install-command ${slug}`;
  return refusal([{ path, message }]);
}
