import type { GitCredential, GitSourceConfig } from '../../protocol/agent-config.ts';
import { AppError } from '../../protocol/app-error.ts';
import { encryptTo } from '../../protocol/jwe.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Secret } from '../../runtime/secret.ts';
import { gitSettingsOf } from './git-settings.ts';
import { isSshCredential } from '../../git/git-credential.ts';
import type { CommitSigning } from '../commit-signing/commit-signing.ts';
import type { HostAccesses } from '../git-hosts/host-accesses.ts';
import { hostSettingsOf } from '../git-hosts/host-credentials.ts';
import type { MasterKey } from '../master-key.ts';
import { projectionName } from './projection-targets.ts';
import { currentAgentCredential } from '../store/agent-credentials.ts';
import { findCluster } from '../store/clusters.ts';
import { currentReadCredential, insertGitCredential, mintGitCredential } from '../store/git-credentials.ts';
import type { Store } from '../store/open-store.ts';
import { findOrganization } from '../store/organizations.ts';
import { findRepositoryById, repositoryUrl } from '../store/repositories.ts';
import type { ClusterRow, GitCredentialRow, RepositoryRow } from '../store/schema.ts';
import { storedPublicKey } from '../stored-public-key.ts';

/** A cluster's Git read credential lives as long as its agent credential. */
export const READ_CREDENTIAL_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;

/** Any user name goes with a token; this one says in a server's log whose it is. */
export const GIT_USERNAME = 'service';

/** Not used: the address of a repository over ssh names its user. */
const SSH_USERNAME = 'git';

export interface GitSourceDeps {
  readonly store: Store;
  readonly masterKey: MasterKey;
  readonly hostAccesses: Pick<HostAccesses, 'of'>;
  readonly clock: Clock;
  readonly commitSigning: Pick<CommitSigning, 'allowedSigners'>;
  readonly randomBytes: (n: number) => Uint8Array;
  /** Where agents reach this control plane. */
  readonly baseUrl: () => string;
}

/** Where clusters read in gitops mode, and with what: the `git` member of `/config`. */
export class GitSources {
  readonly #deps: GitSourceDeps;

  constructor(deps: GitSourceDeps) {
    this.#deps = deps;
  }

  /**
   * The source of a cluster; undefined when it is not in gitops mode. The credential is a JWE to the cluster's key. For a
   * cluster without one it is in the clear: the caller passes that on over TLS only. One whose key is of no use gets none.
   */
  async of(cluster: ClusterRow): Promise<GitSourceConfig | undefined> {
    const { repository_id: repositoryId, git_directory: path } = cluster;
    if (cluster.connectivity_mode !== 'gitops' || repositoryId === null || path === null) return undefined;
    const repository = await findRepositoryById(this.#deps.store.db, repositoryId);
    if (repository === undefined) return undefined;
    const settings = gitSettingsOf(cluster);
    const source: GitSourceConfig = {
      branch: repository.branch,
      ...(repository.embedded === 1 ? await this.#projection(cluster) : { url: repository.url, path }),
      // The breaker matters only to what prunes.
      ...(settings.pruneOnRemoval ? { prune_on_removal: true, prune_breaker: settings.pruneBreaker } : {}),
      ...(cluster.accepted_removals === null ? {} : { accepted_removals: cluster.accepted_removals }),
      ...(cluster.desired_revision === null ? {} : { desired_revision: cluster.desired_revision }),
      ...(await this.#trust(cluster)),
      ...caCertificateOf(repository),
    };
    const key = storedPublicKey(cluster.public_key);
    // A key that nothing can be encrypted to: withheld, since a cluster with a key never gets it in the clear.
    if (key === undefined && cluster.public_key !== null) return source;
    const credential =
      repository.embedded === 1 ? await this.#minted(cluster.id, repositoryId) : await this.#set(repository);
    if (credential === undefined) return source;
    if (key === undefined) return { ...source, credential };
    return { ...source, credential_jwe: await encryptTo(key, JSON.stringify(credential)) };
  }

  /** On the embedded host a cluster reads a repository of its own, whose root is its directory. */
  async #projection(cluster: ClusterRow): Promise<Pick<GitSourceConfig, 'url' | 'path'>> {
    const organization = await findOrganization(this.#deps.store.db, cluster.organization_id);
    if (organization === undefined) throw new Error(`cluster ${cluster.id} is of no organization`);
    return { url: repositoryUrl(this.#deps.baseUrl(), projectionName(organization, cluster)), path: '' };
  }

  /** Named only where signatures are required: an operator that is told of signers reads nothing that they did not sign. */
  async #trust(cluster: ClusterRow): Promise<Pick<GitSourceConfig, 'allowed_signers' | 'trusted_revision'>> {
    if (!gitSettingsOf(cluster).requireSignedCommits) return {};
    const { organization_id: organizationId, trusted_revision: revision } = cluster;
    return {
      allowed_signers: [...(await this.#deps.commitSigning.allowedSigners(organizationId))],
      ...(revision === null ? {} : { trusted_revision: revision }),
    };
  }

  async #minted(clusterId: string, repositoryId: string): Promise<GitCredential> {
    const token = await this.#readToken(clusterId, repositoryId);
    return { username: GIT_USERNAME, password: token.expose() };
  }

  /** Another host's, as an admin has set it. Undefined where none is: the repository is public then. */
  async #set(repository: RepositoryRow): Promise<GitCredential | undefined> {
    const { readCredential: set } = await this.#deps.hostAccesses.of(repository);
    if (set === undefined) return undefined;
    if (!isSshCredential(set)) return { username: set.username, password: set.password.expose() };
    return {
      username: SSH_USERNAME,
      password: '',
      ssh_private_key: set.privateKey.expose(),
      ssh_known_hosts: set.knownHosts,
    };
  }

  /** The cluster's current read token; a new one when there is none, or less than a third of its life is left. */
  async #readToken(clusterId: string, repositoryId: string): Promise<Secret> {
    const { store, masterKey } = this.#deps;
    const known = await currentReadCredential(store.db, { id: clusterId, repositoryId }, this.#deps.clock.now());
    if (known !== undefined && this.#isFresh(known)) {
      return await masterKey.open(known.token_sealed ?? '', sealContext(known.id));
    }
    return await this.renew(clusterId, repositoryId);
  }

  /**
   * Mints a read token unless another request just did. The one before it works until it expires.
   *
   * @throws AppError `invalid_token` when the cluster was disabled or revoked since: its credentials end with it;
   *   `unavailable` when it was moved to another mode or repository since: what is minted then would outlive its use
   */
  async renew(clusterId: string, repositoryId: string): Promise<Secret> {
    const { store, masterKey, clock } = this.#deps;
    const minted = mintGitCredential(
      { repositoryId, lifetimeMs: READ_CREDENTIAL_LIFETIME_MS, use: { access: 'read', clusterId } },
      this.#deps,
    );
    const sealed = await masterKey.seal(minted.token.expose(), sealContext(minted.row.id));
    const other = await store.write(async (trx) => {
      const cluster = await findCluster(trx, clusterId);
      const credential = await currentAgentCredential(trx, clusterId);
      if (cluster === undefined || cluster.disabled_at !== null || credential === undefined) {
        throw new AppError('invalid_token', 'the cluster was disabled or its credentials were revoked');
      }
      if (cluster.connectivity_mode !== 'gitops' || cluster.repository_id !== repositoryId) {
        throw new AppError('unavailable', 'the cluster reads elsewhere now; ask again', { retryAfterSeconds: 1 });
      }
      const newest = await currentReadCredential(trx, { id: clusterId, repositoryId }, clock.now());
      if (newest !== undefined && this.#isFresh(newest)) return newest;
      await insertGitCredential(trx, { ...minted.row, token_sealed: sealed });
      return undefined;
    });
    return other === undefined ? minted.token : await masterKey.open(other.token_sealed ?? '', sealContext(other.id));
  }

  #isFresh(row: GitCredentialRow): boolean {
    return row.token_sealed !== null && row.expires_at > renewalThreshold(this.#deps.clock.now());
  }
}

/** A credential that expires before this is renewed: less than a third of its life is left. */
export function renewalThreshold(now: Date): string {
  return new Date(now.getTime() + READ_CREDENTIAL_LIFETIME_MS / 3).toISOString();
}

/** Roots of another host's certificate, for the operator too. */
function caCertificateOf(repository: RepositoryRow): Pick<GitSourceConfig, 'ca_certificate'> {
  const { caCertificate } = hostSettingsOf(repository);
  return caCertificate === undefined ? {} : { ca_certificate: caCertificate };
}

function sealContext(credentialId: string): string {
  return `git-credential/${credentialId}`;
}
