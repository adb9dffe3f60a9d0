import type { ApprovalStatement } from '../protocol/approval-statement.ts';
import { signApproval } from '../protocol/sign-approval.ts';
import { signPayload, type PayloadContext } from '../protocol/payload-signature.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Secret } from '../runtime/secret.ts';
import type { MasterKey } from './master-key.ts';
import type { Store } from './store/open-store.ts';
import type { SigningKeyRow } from './store/schema.ts';
import { findSigningKeys, keepFirstSigningKey, newSigningKey, signingKeyContext } from './store/signing-keys.ts';

/** Unsealed keys in memory; the one used longest ago goes first. */
const MAX_UNSEALED = 10_000;

export interface PayloadSignerDeps {
  readonly store: Store;
  readonly masterKey: Pick<MasterKey, 'seal' | 'open'>;
  readonly clock: Clock;
}

/**
 * Signs payloads with the current key of their cluster. Which key that is, is read each time: a rotation or revocation, on
 * this replica or another, holds for the next signature. A cluster that has no key yet, as before it registers, gets its
 * first one.
 */
export class PayloadSigner {
  readonly #deps: PayloadSignerDeps;
  /** By `kid`. */
  readonly #unsealed = new Map<string, Secret>();

  constructor(deps: PayloadSignerDeps) {
    this.#deps = deps;
  }

  /**
   * @returns a compact detached JWS; the same for the same input until the key is rotated
   * @throws Error when the stored key does not open under the master key
   */
  async sign(clusterId: string, payload: unknown, header: Omit<PayloadContext, 'cluster_id'>): Promise<string> {
    const row = (await this.#current(clusterId)) ?? (await this.#first(clusterId));
    const key = { kid: row.kid, privateJwk: await this.#open(row) };
    return await signPayload({ payload, key, header: { ...header, cluster_id: clusterId } });
  }

  /** An approval, with the key that signed it. */
  async approve(claims: ApprovalStatement): Promise<{ readonly statement: string; readonly kid: string }> {
    const row = (await this.#current(claims.cluster_id)) ?? (await this.#first(claims.cluster_id));
    const key = { kid: row.kid, privateJwk: await this.#open(row) };
    return { statement: await signApproval(claims, key), kid: row.kid };
  }

  async #current(clusterId: string): Promise<SigningKeyRow | undefined> {
    const keys = await findSigningKeys(this.#deps.store.db, clusterId);
    return keys.find(({ revoked_at: revokedAt }) => revokedAt === null);
  }

  async #first(clusterId: string): Promise<SigningKeyRow> {
    const { store, masterKey, clock } = this.#deps;
    const candidate = await newSigningKey(masterKey, clusterId, clock.now().toISOString());
    const keys = await store.write(async (trx) => await keepFirstSigningKey(trx, candidate, clusterId));
    const key = keys.find(({ revoked_at: revokedAt }) => revokedAt === null);
    if (key === undefined) throw new Error(`every signing key of cluster ${clusterId} is revoked; rotate to a new one`);
    return key;
  }

  async #open(row: SigningKeyRow): Promise<Secret> {
    const known = this.#unsealed.get(row.kid);
    this.#unsealed.delete(row.kid);
    const secret =
      known ?? (await this.#deps.masterKey.open(row.private_key_sealed, signingKeyContext(row.cluster_id)));
    this.#unsealed.set(row.kid, secret);
    const [oldest] = this.#unsealed.keys();
    if (this.#unsealed.size > MAX_UNSEALED && oldest !== undefined) this.#unsealed.delete(oldest);
    return secret;
  }
}
