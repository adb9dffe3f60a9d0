import type { Kysely } from 'kysely';
import { AppError } from '../protocol/app-error.ts';
import { newId } from '../protocol/ids.ts';
import { assertPublicKey } from '../protocol/jwe.ts';
import type { RegisterRequest, RegisterResponse } from '../protocol/register.ts';
import { hashToken, isWellFormedToken, mintToken } from '../protocol/token.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Secret } from '../runtime/secret.ts';
import { intervalsOf } from './cluster-settings.ts';
import type { RefusalAudit } from './refusal-audit.ts';
import type { MasterKey } from './master-key.ts';
import {
  AGENT_CREDENTIAL_LIFETIME_MS,
  insertAgentCredential,
  revokeAgentCredentials,
} from './store/agent-credentials.ts';
import { appendAudit } from './store/audit.ts';
import { activateCluster, findCluster, raiseConfigRevision } from './store/clusters.ts';
import type { Store } from './store/open-store.ts';
import { consumeRegistrationToken, findRegistrationToken } from './store/registration-tokens.ts';
import type { ClusterRow, Database, SigningKeyRow } from './store/schema.ts';
import { findSigningKeys, keepFirstSigningKey, newSigningKey, publicJwkOf } from './store/signing-keys.ts';
import { configTopic } from './topics.ts';
import type { Wakeups } from './wakeups.ts';

/** A rotation is due after this share of the interval at the earliest, the rest is jitter: a fleet that registered in one hour must not rotate in one. */
const EARLIEST_ROTATION = 0.7;
/** However long the interval, a rotation comes well before the credential's end. */
const LATEST_ROTATION_MS = AGENT_CREDENTIAL_LIFETIME_MS * 0.8;

export interface RegisterClusterDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly wakeups: Wakeups;
  readonly masterKey: Pick<MasterKey, 'seal'>;
  readonly randomBytes: (n: number) => Uint8Array;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly refusals: RefusalAudit;
  /** PEM roots of the server's certificate; empty without TLS. */
  readonly caCertificate: string;
}

export interface Registration {
  readonly response: RegisterResponse;
  readonly configRevision: number;
}

type Attempt =
  | Registration
  | { readonly refusal: AppError; readonly audit?: { readonly kind: string; readonly summary: string } };

/**
 * Registration of a cluster: Pending → Active, or Active anew. One transaction holds the use of the token, the binding to
 * the cluster's UID, the end of earlier credentials and the new one, so that of two callers with one token one wins whole.
 */
export class RegisterCluster {
  readonly #deps: RegisterClusterDeps;

  constructor(deps: RegisterClusterDeps) {
    this.#deps = deps;
  }

  /**
   * @throws AppError `invalid_token`, `registration_token_used`, `registration_token_expired`, then `cluster_disabled`,
   *   `cluster_mismatch`, `constraint_violated` (the key); the token stays usable after the last three
   */
  async register(token: Secret, request: RegisterRequest): Promise<Registration> {
    const { store, masterKey, refusals, clock } = this.#deps;
    const text = token.expose();
    if (!isWellFormedToken('svcreg', text)) throw unknownToken();
    const tokenHash = hashToken(text);
    const known = await findRegistrationToken(store.db, tokenHash);
    const cluster = known === undefined ? undefined : await findCluster(store.db, known.cluster_id);
    if (cluster === undefined) throw unknownToken();
    // Making and sealing a key is slow and may not hold up the transaction; one that is not needed is dropped.
    const signingKey =
      (await findSigningKeys(store.db, cluster.id)).length > 0
        ? undefined
        : await newSigningKey(masterKey, cluster.id, clock.now().toISOString());
    const attempt = await store.write(async (trx) => await this.#attempt(trx, tokenHash, request, signingKey));
    if ('refusal' in attempt) {
      if (attempt.audit !== undefined) {
        await refusals.record(cluster, { ...attempt.audit, reason: attempt.refusal.code });
      }
      throw attempt.refusal;
    }
    this.#deps.wakeups.notify(configTopic(cluster.id));
    return attempt;
  }

  async #attempt(
    trx: Kysely<Database>,
    tokenHash: string,
    request: RegisterRequest,
    signingKey: SigningKeyRow | undefined,
  ): Promise<Attempt> {
    const at = this.#deps.clock.now().toISOString();
    const token = await findRegistrationToken(trx, tokenHash);
    const cluster = token === undefined ? undefined : await findCluster(trx, token.cluster_id);
    if (token === undefined || cluster === undefined) return { refusal: unknownToken() };
    if (token.used_at !== null) return usedToken(token.used_at);
    if (token.expires_at <= at) {
      return {
        refusal: new AppError(
          'registration_token_expired',
          `this registration token expired at ${token.expires_at}; ask for a new one`,
        ),
      };
    }
    const refused = refuseCluster(cluster, request);
    if (refused !== undefined) return refused;
    if (!(await consumeRegistrationToken(trx, tokenHash, at))) return usedToken(at);
    return await this.#admit(trx, cluster, request, signingKey, at);
  }

  async #admit(
    trx: Kysely<Database>,
    cluster: ClusterRow,
    request: RegisterRequest,
    signingKey: SigningKeyRow | undefined,
    at: string,
  ): Promise<Registration> {
    const { randomBytes, caCertificate } = this.#deps;
    const now = new Date(at);
    const credential = mintToken('svcagt', randomBytes);
    const expiresAt = new Date(now.getTime() + AGENT_CREDENTIAL_LIFETIME_MS).toISOString();
    const rotateAfter = new Date(now.getTime() + this.#rotationMs(cluster)).toISOString();
    const revoked = await revokeAgentCredentials(trx, cluster.id, at);
    await insertAgentCredential(trx, {
      id: newId('cred', now, randomBytes),
      cluster_id: cluster.id,
      token_hash: hashToken(credential.expose()),
      issued_at: at,
      rotate_after: rotateAfter,
      expires_at: expiresAt,
    });
    await activateCluster(trx, cluster.id, {
      clusterUid: request.cluster_uid,
      publicKey: request.public_key,
      operatorVersion: request.operator_version,
      at,
    });
    const keys = await keepFirstSigningKey(trx, signingKey, cluster.id);
    // The projection changes: the read credential is sealed to the key that was just registered.
    const configRevision = await raiseConfigRevision(trx, cluster.id);
    await appendAudit(trx, {
      organizationId: cluster.organization_id,
      at,
      source: 'agent',
      kind: 'ClusterRegistered',
      clusterId: cluster.id,
      summary: `${cluster.slug} registered${revoked === 0 ? '' : ', which ended its earlier credential'}`,
      reason: cluster.status === 'Pending' ? 'Registered' : 'RegisteredAgain',
    });
    return {
      configRevision,
      response: {
        cluster_id: cluster.id,
        token: credential.expose(),
        expires_at: expiresAt,
        rotate_after: rotateAfter,
        connectivity_mode: cluster.connectivity_mode,
        signing_public_keys: { keys: keys.map(publicJwkOf) },
        ca_certificate: caCertificate,
      },
    };
  }

  #rotationMs(cluster: ClusterRow): number {
    const interval = intervalsOf(cluster).rotate_seconds * 1000;
    const jittered = interval * (EARLIEST_ROTATION + (1 - EARLIEST_ROTATION) * this.#deps.random());
    return Math.round(Math.min(jittered, LATEST_ROTATION_MS));
  }
}

/** A cluster is bound to the UID it first named: whoever holds a token for it cannot put another cluster in its place. */
function refuseCluster(cluster: ClusterRow, request: RegisterRequest): Attempt | undefined {
  if (cluster.disabled_at !== null) {
    return { refusal: new AppError('cluster_disabled', 'this cluster is disabled; an admin has to enable it first') };
  }
  if (cluster.cluster_uid !== null && cluster.cluster_uid !== request.cluster_uid) {
    const given = request.cluster_uid === undefined ? 'named no cluster_uid' : 'named another cluster_uid';
    return {
      refusal: new AppError(
        'cluster_mismatch',
        `this record is bound to another cluster, and the request ${given}; an admin has to bind it anew`,
      ),
      audit: { kind: 'ClusterMismatch', summary: `a registration of ${cluster.slug} ${given}` },
    };
  }
  if (request.public_key !== undefined) assertPublicKey(request.public_key);
  return undefined;
}

function usedToken(at: string): Attempt {
  return {
    refusal: new AppError(
      'registration_token_used',
      `this registration token was used at ${at}; if that was not you, revoke the cluster's credential and ask for a new token`,
    ),
    audit: { kind: 'RegistrationTokenUsed', summary: 'a registration token was presented again after its use' },
  };
}

function unknownToken(): AppError {
  return new AppError('invalid_token', 'this registration token is not known here');
}
