import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import { hashToken, isWellFormedToken } from '../../../protocol/token.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { Secret } from '../../../runtime/secret.ts';
import { findAgentCredential, markAgentCredentialUsed } from '../../store/agent-credentials.ts';
import { findCluster } from '../../store/clusters.ts';
import type { LastContact } from '../../store/last-contact.ts';
import type { Store } from '../../store/open-store.ts';
import type { ClusterRow } from '../../store/schema.ts';

/** Who calls: the cluster that the presented credential is bound to. */
export interface Agent {
  readonly cluster: ClusterRow;
  readonly credentialId: string;
  /** Of that credential, RFC 3339. */
  readonly expiresAt: string;
  readonly rotateAfter: string;
  /** It was presented together with the cluster's client certificate before. */
  readonly wasCertified: boolean;
  readonly token: Secret;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication; read it through `agentOf`. */
    agent: Agent | null;
  }
}

/** The credential is good and its cluster disabled. The answer still tells which revision the configuration has. */
export class ClusterDisabled extends AppError {
  readonly configRevision: number;

  constructor(cluster: Pick<ClusterRow, 'config_revision'>) {
    super('cluster_disabled', 'this cluster is disabled');
    this.configRevision = cluster.config_revision;
  }
}

/** The caller of a request that authentication has let through. */
export function agentOf(request: Pick<FastifyRequest, 'agent'>): Agent {
  if (request.agent === null) throw new Error('this route is not behind authentication');
  return request.agent;
}

export interface AuthenticateDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly lastContact: Pick<LastContact, 'touch'>;
}

/**
 * Finds the cluster of a bearer token. Called again by a held request after each wake-up, so that a revoked credential or
 * a disabled cluster ends it.
 *
 * @throws AppError `missing_token`, `invalid_token` (unknown or revoked), `expired_token`, `cluster_disabled`
 */
export async function authenticate(deps: AuthenticateDeps, authorization: string | undefined): Promise<Agent> {
  const token = bearerToken(authorization);
  const text = token.expose();
  if (!isWellFormedToken('svcagt', text)) {
    throw new AppError(
      'invalid_token',
      isWellFormedToken('svcreg', text)
        ? 'a registration token is good for POST /api/agent/register only'
        : 'the bearer token is not an agent credential',
    );
  }
  // The look-up is by the digest of 256 random bits: how long it takes says nothing of any token.
  const credential = await findAgentCredential(deps.store.db, hashToken(text));
  if (credential === undefined) throw new AppError('invalid_token', 'this agent credential is not known here');
  if (credential.revoked_at !== null) {
    throw new AppError('invalid_token', 'this agent credential was revoked; register the cluster again');
  }
  const now = deps.clock.now().toISOString();
  if (credential.expires_at <= now) {
    throw new AppError(
      'expired_token',
      credential.rotated_at === null
        ? `this agent credential expired at ${credential.expires_at}`
        : `this agent credential was rotated at ${credential.rotated_at}, and its grace period ended at ${credential.expires_at}; read the Secret again`,
    );
  }
  const cluster = await findCluster(deps.store.db, credential.cluster_id);
  if (cluster === undefined) throw new AppError('invalid_token', 'the cluster of this agent credential was deleted');
  if (cluster.disabled_at !== null) throw new ClusterDisabled(cluster);
  if (credential.first_used_at === null) {
    const isStillThere = await deps.store.write(async (trx) => await markAgentCredentialUsed(trx, credential.id, now));
    if (!isStillThere) {
      throw new AppError(
        'invalid_token',
        'this agent credential was replaced before its first use; read the Secret again',
      );
    }
  }
  deps.lastContact.touch(cluster.id);
  return {
    cluster,
    credentialId: credential.id,
    expiresAt: credential.expires_at,
    rotateAfter: credential.rotate_after,
    wasCertified: credential.certified_at !== null,
    token,
  };
}

/**
 * The token of an `Authorization: Bearer` header.
 *
 * @throws AppError `missing_token` or `invalid_token`
 */
export function bearerToken(authorization: string | undefined): Secret {
  if (authorization === undefined) {
    throw new AppError('missing_token', 'the Authorization header is missing; this request needs Bearer <token>');
  }
  const [, token] = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization.trim()) ?? [];
  if (token === undefined) {
    throw new AppError('invalid_token', 'the Authorization header is malformed; its form is Bearer <token>');
  }
  return new Secret(token);
}
