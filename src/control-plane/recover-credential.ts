import type { Kysely } from 'kysely';
import { AppError } from '../protocol/app-error.ts';
import type { RecoverResponse } from '../protocol/credentials.ts';
import { isClusterId } from '../protocol/ids.ts';
import { encryptTo } from '../protocol/jwe.ts';
import type { Clock } from '../runtime/clock.ts';
import { mintAgentCredential, type MintDeps, type MintedCredential } from './agent-credential.ts';
import { MAX_RECOVERIES, RecoveryLimit, RECOVERY_WINDOW_MS, tooMany } from './recovery-limit.ts';
import type { RefusalAudit } from './refusal-audit.ts';
import { endUnusedRecoveries, insertAgentCredential, recoveriesSince } from './store/agent-credentials.ts';
import { appendAudit } from './store/audit.ts';
import { findCluster } from './store/clusters.ts';
import { lockCluster } from './store/lock-cluster.ts';
import type { Store } from './store/open-store.ts';
import type { ClusterRow, Database } from './store/schema.ts';
import { storedPublicKey } from './stored-public-key.ts';

/**
 * How long a recovered credential that nobody uses outlasts the next recovery. Anybody may ask for one without being able
 * to read it; for so long that does not void the one that is on its way to the cluster.
 */
const ON_ITS_WAY_MS = 600_000;

export interface RecoverCredentialDeps extends MintDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly refusals: RefusalAudit;
}

/**
 * A new credential for a cluster that has none that works, as after a restore of this control plane from a backup. Whoever
 * asks proves nothing; only the holder of the cluster's private key can read the answer.
 */
export class RecoverCredential {
  readonly #deps: RecoverCredentialDeps;
  readonly #limit: RecoveryLimit;

  constructor(deps: RecoverCredentialDeps) {
    this.#deps = deps;
    this.#limit = new RecoveryLimit(deps);
  }

  /** @throws AppError `forbidden` or `rate_limited` */
  async recover(clusterId: string): Promise<RecoverResponse> {
    const { store, clock, refusals } = this.#deps;
    this.#limit.count(clusterId);
    const cluster = isClusterId(clusterId) ? await findCluster(store.db, clusterId) : undefined;
    const publicKey = cluster === undefined ? null : keyOf(cluster);
    const key = storedPublicKey(publicKey);
    if (cluster === undefined || publicKey === null || key === undefined) {
      if (cluster !== undefined) {
        await refusals.record(cluster, {
          kind: 'CredentialRecoveryRefused',
          summary: `a recovery of the credential of ${cluster.slug} was refused: ${whyNot(cluster)}`,
          reason: 'forbidden',
        });
      }
      throw notRecovered();
    }
    const now = clock.now();
    const minted = mintAgentCredential(this.#deps, cluster, now, { origin: 'recovery', replaces: null });
    // The audience keeps it from being passed off as something else that is sealed to the same key.
    const tokenJwe = await encryptTo(key, minted.token, { aud: `${cluster.id}/credentials` });
    await store.write(async (trx) => {
      await this.#keep(trx, { clusterId, publicKey, minted, now });
    });
    return { token_jwe: tokenJwe, expires_at: minted.row.expires_at, rotate_after: minted.row.rotate_after };
  }

  async #keep(
    trx: Kysely<Database>,
    given: {
      readonly clusterId: string;
      readonly publicKey: string;
      readonly minted: MintedCredential;
      readonly now: Date;
    },
  ): Promise<void> {
    const { clusterId, publicKey, minted, now } = given;
    const cluster = await lockCluster(trx, clusterId);
    // A revocation, or another key, that came about since the look.
    if (cluster === undefined || keyOf(cluster) !== publicKey) throw notRecovered();
    const since = new Date(now.getTime() - RECOVERY_WINDOW_MS).toISOString();
    const issued = await recoveriesSince(trx, clusterId, since);
    const [oldest] = issued;
    if (oldest !== undefined && issued.length >= MAX_RECOVERIES) throw tooMany(Date.parse(oldest), now.getTime());
    const settled = new Date(now.getTime() - ON_ITS_WAY_MS).toISOString();
    await endUnusedRecoveries(trx, clusterId, settled, now.toISOString());
    await insertAgentCredential(trx, minted.row);
    await appendAudit(trx, {
      organizationId: cluster.organization_id,
      at: now.toISOString(),
      source: 'agent',
      kind: 'CredentialIssued',
      clusterId,
      summary: `a credential of ${cluster.slug} was recovered: encrypted to the cluster's key, asked for without a credential`,
      reason: 'Recovered',
    });
  }
}

/** The key to recover to; null where nothing may be recovered. */
function keyOf(cluster: ClusterRow): string | null {
  return cluster.status === 'Active' && cluster.disabled_at === null && cluster.revoked_at === null
    ? cluster.public_key
    : null;
}

function whyNot(cluster: ClusterRow): string {
  if (cluster.disabled_at !== null) return 'it is disabled';
  if (cluster.revoked_at !== null) return 'its credentials were revoked';
  if (cluster.status === 'Pending') return 'it has never registered';
  return cluster.public_key === null ? 'it has registered no key' : 'nothing can be encrypted to the key that it has';
}

/** The same words whatever the cause: who asks has shown nothing, and must not learn which clusters there are. */
function notRecovered(): AppError {
  return new AppError(
    'forbidden',
    'no credential is recovered for this cluster: it is not known here, has no key, is disabled, or its credentials were revoked. The audit log says which; an admin issues a registration token',
  );
}
