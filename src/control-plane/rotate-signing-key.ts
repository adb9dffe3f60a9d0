import { CompactSign, importJWK, type JWK } from 'jose';
import { AppError } from '../protocol/app-error.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import type { PublicJwk } from '../protocol/register.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Secret } from '../runtime/secret.ts';
import type { MasterKey } from './master-key.ts';
import type { AdminIdentity } from './store/admin-tokens.ts';
import { appendAudit } from './store/audit.ts';
import { raiseConfigRevision } from './store/clusters.ts';
import { lockCluster } from './store/lock-cluster.ts';
import type { Store } from './store/open-store.ts';
import type { ClusterRow, SigningKeyRow } from './store/schema.ts';
import {
  findSigningKeys,
  MAX_SIGNING_KEYS,
  newSigningKey,
  publicJwkOf,
  replaceSigningKey,
  revokeSigningKeyRow,
  signingKeyContext,
} from './store/signing-keys.ts';
import { APPROVALS_TOPIC, configTopic } from './topics.ts';
import type { Wakeups } from './wakeups.ts';

export interface SigningKeyDeps {
  readonly store: Store;
  readonly masterKey: Pick<MasterKey, 'seal' | 'open'>;
  readonly clock: Clock;
  readonly wakeups: Wakeups;
}

/**
 * A successor of the cluster's signing key, endorsed by it, which signs from now on. The private half of the earlier one
 * is destroyed; what it signed verifies until it is revoked.
 *
 * @throws AppError `not_found` when the cluster was deleted meanwhile; `conflict` when there is no key yet, when somebody else rotates at this moment, when too many keys count
 */
export async function rotateSigningKey(
  deps: SigningKeyDeps,
  cluster: ClusterRow,
  admin: AdminIdentity,
): Promise<SigningKeyRow> {
  const { store, masterKey, clock, wakeups } = deps;
  const [current] = await findSigningKeys(store.db, cluster.id);
  if (current === undefined) {
    throw new AppError('conflict', 'this cluster has no signing key yet: it gets one when it registers');
  }
  const at = clock.now().toISOString();
  const made = await newSigningKey(masterKey, cluster.id, at);
  const privateJwk = await masterKey.open(current.private_key_sealed, signingKeyContext(cluster.id));
  const successor = {
    ...made,
    predecessor: current.kid,
    endorsement: await endorse(publicJwkOf(made), { kid: current.kid, privateJwk }),
  };
  await store.write(async (trx) => {
    if ((await lockCluster(trx, cluster.id)) === undefined) {
      throw new AppError('not_found', `there is no cluster ${cluster.slug}; it was just deleted`);
    }
    const keys = await findSigningKeys(trx, cluster.id);
    if (keys[0]?.kid !== current.kid) {
      throw new AppError('conflict', 'the signing key was rotated at this moment by somebody else; look at the list');
    }
    if (keys.length >= MAX_SIGNING_KEYS) {
      throw new AppError(
        'conflict',
        `${keys.length} signing keys of this cluster count, the most that there may be; revoke a retired one first`,
      );
    }
    await replaceSigningKey(trx, current.kid, successor);
    await raiseConfigRevision(trx, cluster.id);
    await appendAudit(trx, {
      ...actionOf(admin, cluster, at),
      kind: 'SigningKeyRotated',
      summary: `cluster ${cluster.slug}: signing key ${successor.kid} in place of ${current.kid}, which still verifies`,
    });
  });
  wakeups.notify(configTopic(cluster.id));
  return successor;
}

/**
 * From now on nothing counts that this key signed. Revoked twice is revoked once.
 *
 * @throws AppError `not_found`; `conflict` for the key that signs
 */
export async function revokeSigningKey(
  deps: SigningKeyDeps,
  cluster: ClusterRow,
  admin: AdminIdentity,
  kid: string,
): Promise<void> {
  const { store, clock, wakeups } = deps;
  const at = clock.now().toISOString();
  const revoked = await store.write(async (trx) => {
    await lockCluster(trx, cluster.id);
    const [current] = await findSigningKeys(trx, cluster.id);
    if (current?.kid === kid) {
      throw new AppError('conflict', 'this is the key that signs; rotate first, then revoke the retired one');
    }
    const outcome = await revokeSigningKeyRow(trx, { clusterId: cluster.id, kid, at });
    if (outcome === 'unknown') throw new AppError('not_found', `cluster ${cluster.slug} has no signing key ${kid}`);
    if (outcome === 'was revoked') return false;
    await raiseConfigRevision(trx, cluster.id);
    await appendAudit(trx, {
      ...actionOf(admin, cluster, at),
      kind: 'SigningKeyRevoked',
      summary: `cluster ${cluster.slug}: signing key ${kid} revoked; what it signed no longer counts`,
    });
    return true;
  });
  if (!revoked) return;
  wakeups.notify(configTopic(cluster.id));
  // What it approved is signed again.
  wakeups.notify(APPROVALS_TOPIC);
}

/** Compact JWS over the RFC 8785 form of the public JWK, by the key before it. */
async function endorse(
  successor: PublicJwk,
  by: { readonly kid: string; readonly privateJwk: Secret },
): Promise<string> {
  const key = await importJWK(JSON.parse(by.privateJwk.expose()) as JWK, 'EdDSA');
  return await new CompactSign(Buffer.from(canonicalJson(successor), 'utf8'))
    .setProtectedHeader({ alg: 'EdDSA', kid: by.kid })
    .sign(key);
}

function actionOf(
  { organization, name }: AdminIdentity,
  cluster: ClusterRow,
  at: string,
): { organizationId: string; at: string; source: 'user'; clusterId: string; actor: string } {
  return { organizationId: organization.id, at, source: 'user', clusterId: cluster.id, actor: name };
}
