import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { sshKeyOfEd25519, sshPublicKeyLine, type SshPublicKey } from '../../git/signing/ssh-public-key.ts';
import { signForGit } from '../../git/signing/ssh-signature.ts';
import type { AllowedSigner } from '../../protocol/agent-config.ts';
import { newId } from '../../protocol/ids.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { MasterKey } from '../master-key.ts';
import {
  currentCommitSigningKey,
  insertCommitSigningKey,
  listCommitSigningKeys,
  raiseRevisionsOfVerifiers,
  signsNow,
} from '../store/commit-signing-keys.ts';
import type { Store } from '../store/open-store.ts';
import type { CommitSigningKeyRow } from '../store/review-rows.ts';
import { configTopic } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';

/** Whose commits they are: the committer's address (`COMMITTER`), which `git log --show-signature` prints. */
const PRINCIPAL = 'service-control-plane@localhost';

/** So long another replica may sign with a key that was just rotated; what it signs still counts. */
const LOOK_AGAIN_MS = 1000;
const MAX_OPEN = 1000;

export interface CommitSigningDeps {
  readonly store: Store;
  readonly masterKey: Pick<MasterKey, 'seal' | 'open'>;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly wakeups: Pick<Wakeups, 'notify'>;
}

interface OpenKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: SshPublicKey;
  readonly lookedAt: number;
}

/**
 * Signs the commits of each organization with its key, which is made when it is first needed. Ed25519 signs the same bytes
 * the same way, so that a commit which is planned again keeps its id.
 */
export class CommitSigning {
  readonly #deps: CommitSigningDeps;
  /** By organization; the one used longest ago goes first. */
  readonly #open = new Map<string, OpenKey>();

  constructor(deps: CommitSigningDeps) {
    this.#deps = deps;
  }

  /**
   * @returns the armored SSH signature of a commit's bytes
   * @throws Error when the stored key does not open under the master key
   */
  async sign(organizationId: string, payload: Buffer): Promise<string> {
    const { privateKey, publicKey } = await this.#current(organizationId);
    return signForGit(payload, privateKey, publicKey);
  }

  /** Whose signatures count: the control plane's keys and those that admins added, without the revoked ones. */
  async allowedSigners(organizationId: string): Promise<readonly AllowedSigner[]> {
    return allowedSignersOf(await this.list(organizationId));
  }

  /** Every key, the newest first; the one that signs is among them. */
  async list(organizationId: string): Promise<readonly CommitSigningKeyRow[]> {
    const { db } = this.#deps.store;
    const rows = await listCommitSigningKeys(db, organizationId);
    if (rows.some(signsNow)) return rows;
    await this.#ensure(organizationId);
    return await listCommitSigningKeys(db, organizationId);
  }

  /** After a rotation, on this replica at once. */
  forget(organizationId: string): void {
    this.#open.delete(organizationId);
  }

  async #current(organizationId: string): Promise<OpenKey> {
    const { clock, masterKey } = this.#deps;
    const lookedAt = clock.now().getTime();
    const known = this.#open.get(organizationId);
    if (known !== undefined && lookedAt - known.lookedAt < LOOK_AGAIN_MS) return known;
    const row = await this.#ensure(organizationId);
    let key: OpenKey;
    if (known?.id === row.id) {
      key = { ...known, lookedAt };
    } else {
      const pem = await masterKey.open(row.private_key_sealed ?? '', sealContext(row.id));
      const privateKey = createPrivateKey(pem.expose());
      key = { id: row.id, privateKey, publicKey: sshKeyOfEd25519(createPublicKey(privateKey)), lookedAt };
    }
    this.#open.delete(organizationId);
    this.#open.set(organizationId, key);
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN && oldest !== undefined) this.#open.delete(oldest);
    return key;
  }

  /** The key that signs; of several replicas that make the first one at once, one wins and all use it. */
  async #ensure(organizationId: string): Promise<CommitSigningKeyRow> {
    const { store, wakeups } = this.#deps;
    const known = await currentCommitSigningKey(store.db, organizationId);
    if (known !== undefined) return known;
    const candidate = await newCommitSigningKey(this.#deps, organizationId);
    const { row, told } = await store.write(async (trx) => {
      const first = await currentCommitSigningKey(trx, organizationId);
      if (first !== undefined) return { row: first, told: [] };
      await insertCommitSigningKey(trx, candidate);
      return { row: candidate, told: await raiseRevisionsOfVerifiers(trx, organizationId) };
    });
    for (const id of told) wakeups.notify(configTopic(id));
    return row;
  }
}

/** A key of the control plane's own, made and sealed outside of any transaction. */
export async function newCommitSigningKey(
  deps: Pick<CommitSigningDeps, 'masterKey' | 'clock' | 'randomBytes'>,
  organizationId: string,
): Promise<CommitSigningKeyRow> {
  const id = newId('csk', deps.clock.now(), deps.randomBytes);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return {
    id,
    organization_id: organizationId,
    principal: PRINCIPAL,
    public_key: sshPublicKeyLine(sshKeyOfEd25519(publicKey)),
    private_key_sealed: await deps.masterKey.seal(pem, sealContext(id)),
    added_by: null,
    created_at: deps.clock.now().toISOString(),
    retired_at: null,
    revoked_at: null,
    revoked_reason: null,
  };
}

export function allowedSignersOf(rows: readonly CommitSigningKeyRow[]): readonly AllowedSigner[] {
  return rows
    .filter(({ revoked_at: revokedAt }) => revokedAt === null)
    .map(({ principal, public_key: publicKey }) => ({ principal, public_key: publicKey }));
}

/** The file that `gpg.ssh.allowedSignersFile` of git names (ssh-keygen(1), "ALLOWED SIGNERS"). */
export function allowedSignersFile(signers: readonly AllowedSigner[]): string {
  return signers.map(({ principal, public_key: key }) => `${principal} namespaces="git" ${key}\n`).join('');
}

function sealContext(id: string): string {
  return `commit-signing-key/${id}`;
}
