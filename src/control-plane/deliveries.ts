import { join } from 'node:path';
import type { Delivery } from '../delivery/delivery.ts';
import type { LayoutRecord } from '../delivery/gitops/write/layout-record.ts';
import { GitopsDelivery, type GitopsDeliveryDeps } from '../delivery/gitops/write/gitops-delivery.ts';
import { PullDelivery, type JobQueue } from '../delivery/pull/pull-delivery.ts';
import type { DeliveryTarget, GitopsTarget, PushTarget } from '../delivery/select-delivery.ts';
import type { EmbeddedHost } from '../git/embedded-host/embedded-host.ts';
import type { CommitSigner } from '../git/commit-object.ts';
import type { DirectoryMove } from '../git/directory-moves.ts';
import type { GitCredential } from '../git/git-credential.ts';
import { openRemote } from '../git/remote/open-remote.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { signatureOf, type HostAccesses } from './git-hosts/host-accesses.ts';
import { GIT_USERNAME } from './git/git-source.ts';
import { insertGitCredential, mintGitCredential, type StoredScope } from './store/git-credentials.ts';
import type { Store } from './store/open-store.ts';
import { findRepositoryById, repositoryUrl } from './store/repositories.ts';
import type { RepositoryRow } from './store/schema.ts';

/** A write credential is for one push (decisions, "Git"). */
export const WRITE_CREDENTIAL_LIFETIME_MS = 60_000;

/** Transports that are kept warm; the one used longest ago goes first. */
const MAX_WARM = 128;

export const COMMITTER = { name: 'service-control-plane', email: 'service-control-plane@localhost' } as const;

export interface DeliveriesDeps {
  readonly store: Store;
  readonly host: EmbeddedHost;
  readonly hostAccesses: Pick<HostAccesses, 'of'>;
  readonly jobs: JobQueue;
  /** Transports to the API servers of clusters in push mode; it keeps them. */
  readonly push: { readonly open: (target: PushTarget) => Promise<Delivery> };
  /** The armored signature of a commit's bytes, by the organization's key. */
  readonly signCommit: (organizationId: string, payload: Buffer) => Promise<string>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly logger: Logger;
  /** What is on record of a repository's layout. */
  readonly layoutRecord: (repositoryId: string) => LayoutRecord;
  /** Folder of the mirrors, one for each repository of another host. They can be deleted while the program is stopped. */
  readonly mirrorDir: string;
  /** Where this process reaches its own Git host. */
  readonly hostUrl: () => string;
}

/** A transport, and what its repository's row said when it was made. */
interface Warm {
  readonly signature: string;
  readonly delivery: GitopsDelivery;
}

/** The transports to targets, made when first needed and kept warm. */
export class Deliveries implements AsyncDisposable {
  readonly #deps: DeliveriesDeps;
  readonly #warm = new Map<string, Warm>();
  /** Repositories that are being opened: two who ask at once get one transport, as a mirror has one owner. */
  readonly #opening = new Map<string, Promise<GitopsDelivery>>();

  constructor(deps: DeliveriesDeps) {
    this.#deps = deps;
  }

  /** @throws Error when the repository's record is gone or its bare repository cannot be made */
  async open(target: GitopsTarget): Promise<GitopsDelivery>;
  async open(target: DeliveryTarget): Promise<Delivery>;
  async open(target: DeliveryTarget): Promise<Delivery> {
    // Nothing to keep warm: the queues are rows.
    if (target.mode === 'pull') return new PullDelivery(this.#deps.jobs, target.clusterId);
    if (target.mode === 'push') return await this.#deps.push.open(target);
    return await this.#openRepository(target);
  }

  /** Keeps the mirrors of this process fast, one after the other. One that fails is left for the next time. */
  async maintain(signal: AbortSignal): Promise<void> {
    // A copy: what is used meanwhile moves to the end.
    const warm = [...this.#warm];
    for (const [repositoryId, { delivery }] of warm) {
      signal.throwIfAborted();
      try {
        await delivery.maintain(signal);
      } catch (error) {
        signal.throwIfAborted();
        this.#deps.logger.warn(
          { err: error, repositoryId },
          'a Git mirror could not be maintained; trying again later',
        );
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const warm = [...this.#warm.values()];
    this.#warm.clear();
    await Promise.all(warm.map(async ({ delivery }) => await delivery[Symbol.asyncDispose]()));
  }

  async #openRepository({ repositoryId }: GitopsTarget): Promise<GitopsDelivery> {
    const opening = (this.#opening.get(repositoryId) ?? Promise.resolve()).then(
      async () => await this.#reopen(repositoryId),
      async () => await this.#reopen(repositoryId),
    );
    this.#opening.set(repositoryId, opening);
    try {
      return await opening;
    } finally {
      if (this.#opening.get(repositoryId) === opening) this.#opening.delete(repositoryId);
    }
  }

  /** The transport as the repository's row is now: one that has changed gets a new one, by its new credentials. */
  async #reopen(repositoryId: string): Promise<GitopsDelivery> {
    const repository = await findRepositoryById(this.#deps.store.db, repositoryId);
    if (repository === undefined) throw new Error(`the repository ${repositoryId} is not recorded`);
    const signature = signatureOf(repository);
    const known = this.#warm.get(repositoryId);
    if (known !== undefined) {
      this.#warm.delete(repositoryId);
      // Somebody may have removed the hosted repository meanwhile: then it is made anew.
      const isThere = repository.embedded !== 1 || (await this.#deps.host.has(repository.name));
      if (known.signature === signature && isThere) {
        this.#warm.set(repositoryId, known);
        return known.delivery;
      }
      // What it is doing ends first: a mirror has one owner.
      await known.delivery[Symbol.asyncDispose]();
    }
    const delivery = repository.embedded === 1 ? await this.#embedded(repository) : await this.#remote(repository);
    this.#warm.set(repositoryId, { signature, delivery });
    await this.#coolDown();
    return delivery;
  }

  async #embedded(repository: RepositoryRow): Promise<GitopsDelivery> {
    const { host, hostUrl, signCommit } = this.#deps;
    const sign: CommitSigner = async (payload) => await signCommit(repository.organization_id, payload);
    await host.ensureRepository(repository.name, { branch: repository.branch, sign });
    const where = { url: repositoryUrl(hostUrl(), repository.name), localPath: host.repositoryPath(repository.name) };
    return this.#gitops(repository, where, {
      mintCredential: async (scope) => await this.#mint(repository.id, scope),
      mintMove: async (moves) => await this.#mint(repository.id, { moves }),
    });
  }

  async #remote(repository: RepositoryRow): Promise<GitopsDelivery> {
    const { url } = repository;
    const access = await this.#deps.hostAccesses.of(repository);
    return this.#gitops(
      repository,
      { url },
      {
        // The whole repository's: no other host mints one for a few directories.
        mintCredential: async (_scope, signal) => await access.gitCredential(signal),
        mintMove: async (_moves, signal) => await access.gitCredential(signal),
        remote: openRemote({ url, fetchLike: access.fetchLike, link: access.native }),
      },
    );
  }

  #gitops(
    repository: RepositoryRow,
    where: { readonly url: string; readonly localPath?: string },
    {
      mintMove,
      ...way
    }: Pick<GitopsDeliveryDeps, 'mintCredential' | 'remote'> & {
      readonly mintMove: (moves: readonly DirectoryMove[], signal: AbortSignal) => Promise<GitCredential>;
    },
  ): GitopsDelivery {
    const { clock, random, logger, mirrorDir, signCommit } = this.#deps;
    const { name, branch, layout } = repository;
    return new GitopsDelivery({
      ...way,
      repository: { name, branch, layout, ...where },
      mirrorPath: join(mirrorDir, `${repository.id}.git`),
      layouts: { record: this.#deps.layoutRecord(repository.id), mintMove },
      committer: COMMITTER,
      signCommit: async (payload) => await signCommit(repository.organization_id, payload),
      clock,
      random,
      logger,
    });
  }

  async #mint(repositoryId: string, scope: StoredScope): Promise<GitCredential> {
    const { row, token } = mintGitCredential(
      { repositoryId, lifetimeMs: WRITE_CREDENTIAL_LIFETIME_MS, use: { access: 'write', scope } },
      this.#deps,
    );
    await this.#deps.store.write(async (trx) => await insertGitCredential(trx, row));
    return { username: GIT_USERNAME, password: token };
  }

  async #coolDown(): Promise<void> {
    const [oldest] = this.#warm;
    if (this.#warm.size <= MAX_WARM || oldest === undefined) return;
    this.#warm.delete(oldest[0]);
    await oldest[1].delivery[Symbol.asyncDispose]();
  }
}
