import type { Kysely } from 'kysely';
import { AppError } from '../protocol/app-error.ts';
import type { RotateRequest, RotateResponse } from '../protocol/credentials.ts';
import { assertPublicKey } from '../protocol/jwe.ts';
import type { Clock } from '../runtime/clock.ts';
import { mintAgentCredential, type MintDeps, type MintedCredential } from './agent-credential.ts';
import type { ClientAuthority } from './client-authority.ts';
import { findSettings, rotationGraceMs } from './organization-settings.ts';
import type { RefusalAudit } from './refusal-audit.ts';
import {
  deleteUnusedReplacements,
  findAgentCredentialById,
  hasUsedReplacement,
  insertAgentCredential,
  startGrace,
} from './store/agent-credentials.ts';
import { appendAudit } from './store/audit.ts';
import { raiseConfigRevision } from './store/clusters.ts';
import { lockCluster } from './store/lock-cluster.ts';
import type { Store } from './store/open-store.ts';
import type { AgentCredentialRow, ClusterRow, Database } from './store/schema.ts';
import { configTopic } from './topics.ts';
import type { Wakeups } from './wakeups.ts';

export interface RotateCredentialDeps extends MintDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly wakeups: Wakeups;
  readonly refusals: RefusalAudit;
  readonly clientAuthority: Pick<ClientAuthority, 'issue'>;
}

export interface Rotation {
  readonly response: RotateResponse;
  readonly configRevision: number;
}

/**
 * A new credential for the one that asks:
 *
 * ```
 *  in use ──rotate──► in grace, until first rotation + grace ──► expired
 *                       │  rotate again, replacement never used: that one is deleted, another is issued
 *                       └─ rotate again, replacement used: 409 already_rotated
 * ```
 *
 * So an answer that was lost, or a crash before the new credential was saved, costs nothing but another call.
 */
export class RotateCredential {
  readonly #deps: RotateCredentialDeps;

  constructor(deps: RotateCredentialDeps) {
    this.#deps = deps;
  }

  /**
   * @throws AppError `constraint_violated` (key or certificate request), `already_rotated`; `invalid_token`,
   *   `expired_token` or `cluster_disabled` when that came about since the credential was looked at
   */
  async rotate(
    agent: { readonly cluster: ClusterRow; readonly credentialId: string },
    request: RotateRequest,
  ): Promise<Rotation> {
    const { store, clock, clientAuthority, refusals, wakeups } = this.#deps;
    const { cluster, credentialId } = agent;
    if (request.public_key !== undefined) assertPublicKey(request.public_key);
    const now = clock.now();
    const minted = mintAgentCredential(this.#deps, cluster, now, { origin: 'rotation', replaces: credentialId });
    // Signed before the transaction, which it would hold up.
    const certificate =
      request.csr === undefined
        ? undefined
        : await clientAuthority.issue({ csr: request.csr, clusterId: cluster.id, expiresAt: minted.row.expires_at });
    const attempt = await store.write(async (trx) => await this.#attempt(trx, agent, request, { minted, now }));
    if ('refusal' in attempt) {
      await refusals.record(cluster, {
        kind: 'CredentialAlreadyRotated',
        summary: `a credential of ${cluster.slug} asked for a rotation although its replacement is in use`,
        reason: attempt.refusal.code,
      });
      throw attempt.refusal;
    }
    if (attempt.configRevision !== cluster.config_revision) wakeups.notify(configTopic(cluster.id));
    return {
      configRevision: attempt.configRevision,
      response: {
        token: minted.token.expose(),
        expires_at: minted.row.expires_at,
        rotate_after: minted.row.rotate_after,
        ...(certificate === undefined ? {} : { client_certificate: certificate }),
      },
    };
  }

  async #attempt(
    trx: Kysely<Database>,
    agent: { readonly cluster: ClusterRow; readonly credentialId: string },
    request: RotateRequest,
    { minted, now }: { readonly minted: MintedCredential; readonly now: Date },
  ): Promise<{ readonly configRevision: number } | { readonly refusal: AppError }> {
    const at = now.toISOString();
    const { cluster, credential } = await stillValid(trx, agent, at);
    const isRepeat = credential.rotated_at !== null;
    if (isRepeat) {
      if (await hasUsedReplacement(trx, credential.id)) return { refusal: alreadyRotated(credential) };
      await deleteUnusedReplacements(trx, credential.id);
    } else {
      const graceMs = rotationGraceMs(await findSettings(trx, cluster.organization_id));
      await startGrace(trx, credential, { at, endsAt: new Date(now.getTime() + graceMs).toISOString() });
    }
    await insertAgentCredential(trx, minted.row);
    const configRevision = await takePublicKey(trx, cluster, request);
    await appendAudit(trx, {
      organizationId: cluster.organization_id,
      at,
      source: 'agent',
      kind: 'CredentialIssued',
      clusterId: cluster.id,
      summary: isRepeat
        ? `${cluster.slug} rotated its credential again; the one that it never used is void`
        : `${cluster.slug} rotated its credential`,
      reason: isRepeat ? 'RotatedAgain' : 'Rotated',
    });
    return { configRevision };
  }
}

/** The rows, the cluster's locked. What authentication found may have ended since. */
async function stillValid(
  trx: Kysely<Database>,
  agent: { readonly cluster: ClusterRow; readonly credentialId: string },
  at: string,
): Promise<{ readonly cluster: ClusterRow; readonly credential: AgentCredentialRow }> {
  const cluster = await lockCluster(trx, agent.cluster.id);
  const credential = await findAgentCredentialById(trx, agent.credentialId);
  if (cluster === undefined || credential === undefined || credential.revoked_at !== null) {
    throw new AppError('invalid_token', 'this agent credential was revoked; register the cluster again');
  }
  if (credential.expires_at <= at) {
    throw new AppError('expired_token', `this agent credential expired at ${credential.expires_at}`);
  }
  if (cluster.disabled_at !== null) throw new AppError('cluster_disabled', 'this cluster is disabled');
  return { cluster, credential };
}

function alreadyRotated(credential: AgentCredentialRow): AppError {
  return new AppError(
    'already_rotated',
    `this credential was rotated at ${credential.rotated_at ?? ''} and its replacement is in use; read the Secret again. It is accepted until ${credential.expires_at}`,
  );
}

/** @returns the config revision, raised when the key is another: what is sealed to it has to be sealed anew */
async function takePublicKey(trx: Kysely<Database>, cluster: ClusterRow, request: RotateRequest): Promise<number> {
  const publicKey = request.public_key === undefined ? cluster.public_key : JSON.stringify(request.public_key);
  if (publicKey === cluster.public_key) return cluster.config_revision;
  await trx.updateTable('clusters').set({ public_key: publicKey }).where('id', '=', cluster.id).execute();
  return await raiseConfigRevision(trx, cluster.id);
}
