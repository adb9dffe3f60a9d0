import type { Kysely } from 'kysely';
import { AppError } from '../protocol/app-error.ts';
import { assertPublicKey } from '../protocol/jwe.ts';
import type { RegisterRequest, RegisterResponse } from '../protocol/register.ts';
import { hashToken, isWellFormedToken } from '../protocol/token.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Secret } from '../runtime/secret.ts';
import { mintAgentCredential, type MintDeps, type MintedCredential } from './agent-credential.ts';
import type { ClientAuthority } from './client-authority.ts';
import type { RefusalAudit } from './refusal-audit.ts';
import type { MasterKey } from './master-key.ts';
import { insertAgentCredential, revokeAgentCredentials } from './store/agent-credentials.ts';
import type { AuditKind } from './store/audit-kinds.ts';
import { appendAudit } from './store/audit.ts';
import { activateCluster, findCluster, raiseConfigRevision } from './store/clusters.ts';
import { offerAgain } from './store/jobs.ts';
import { lockCluster } from './store/lock-cluster.ts';
import type { Store } from './store/open-store.ts';
import { consumeRegistrationToken, findRegistrationToken } from './store/registration-tokens.ts';
import type { ClusterRow, Database, SigningKeyRow } from './store/schema.ts';
import { findSigningKeys, keepFirstSigningKey, newSigningKey, publicJwkOf } from './store/signing-keys.ts';
import { configTopic } from './topics.ts';
import type { Wakeups } from './wakeups.ts';

export interface RegisterClusterDeps extends MintDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly wakeups: Wakeups;
  readonly masterKey: Pick<MasterKey, 'seal'>;
  readonly clientAuthority: Pick<ClientAuthority, 'issue'>;
  readonly refusals: RefusalAudit;
  /** PEM root of the server's certificate; empty where there is none to tell (docs/decisions, "Identity of clusters"). */
  readonly caCertificate: string;
}

export interface Registration {
  readonly response: RegisterResponse;
  readonly configRevision: number;
}

/** What is made before the transaction, which it would hold up. */
interface Made {
  readonly signingKey: SigningKeyRow | undefined;
  readonly credential: MintedCredential;
  /** PEM, or why the request for it is refused. */
  readonly certificate: string | AppError | undefined;
}

type Attempt =
  | Registration
  | { readonly refusal: AppError; readonly audit?: { readonly kind: AuditKind; readonly summary: string } };

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
   *   `cluster_mismatch`, `constraint_violated` (key, certificate request); the token stays usable after the last three
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
    const made: Made = { signingKey, ...(await this.#mint(cluster, request)) };
    const attempt = await store.write(async (trx) => await this.#attempt(trx, tokenHash, request, made));
    if ('refusal' in attempt) {
      if (attempt.audit !== undefined) {
        await refusals.record(cluster, { ...attempt.audit, reason: attempt.refusal.code });
      }
      throw attempt.refusal;
    }
    this.#deps.wakeups.notify(configTopic(cluster.id));
    return attempt;
  }

  /** A certificate request that cannot be taken is kept as its fault, which comes after those of the token. */
  async #mint(cluster: ClusterRow, { csr }: RegisterRequest): Promise<Omit<Made, 'signingKey'>> {
    const { clock, clientAuthority } = this.#deps;
    const use = { origin: 'registration', replaces: null } as const;
    const credential = mintAgentCredential(this.#deps, cluster, clock.now(), use);
    if (csr === undefined) return { credential, certificate: undefined };
    try {
      const expiresAt = credential.row.expires_at;
      return { credential, certificate: await clientAuthority.issue({ csr, clusterId: cluster.id, expiresAt }) };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { credential, certificate: error };
    }
  }

  async #attempt(trx: Kysely<Database>, tokenHash: string, request: RegisterRequest, made: Made): Promise<Attempt> {
    const at = made.credential.row.issued_at;
    const token = await findRegistrationToken(trx, tokenHash);
    const cluster = token === undefined ? undefined : await lockCluster(trx, token.cluster_id);
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
    if (made.certificate instanceof AppError) return { refusal: made.certificate };
    if (!(await consumeRegistrationToken(trx, tokenHash, at))) return usedToken(at);
    return await this.#admit(trx, cluster, request, made);
  }

  async #admit(
    trx: Kysely<Database>,
    cluster: ClusterRow,
    request: RegisterRequest,
    { credential, certificate, signingKey }: Made,
  ): Promise<Registration> {
    const { token, row } = credential;
    const { issued_at: at, expires_at: expiresAt, rotate_after: rotateAfter } = row;
    const revoked = await revokeAgentCredentials(trx, cluster.id, at);
    await insertAgentCredential(trx, row);
    await activateCluster(trx, cluster.id, {
      clusterUid: request.cluster_uid,
      publicKey: request.public_key,
      operatorVersion: request.operator_version,
      at,
    });
    await offerAgain(trx, cluster.id);
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
        token: token.expose(),
        expires_at: expiresAt,
        rotate_after: rotateAfter,
        connectivity_mode: cluster.connectivity_mode,
        signing_public_keys: { keys: keys.map(publicJwkOf) },
        ca_certificate: this.#deps.caCertificate,
        ...(typeof certificate === 'string' ? { client_certificate: certificate } : {}),
      },
    };
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
