import { join } from 'node:path';
import type { Delivery } from '../delivery/delivery.ts';
import { GitopsDelivery } from '../delivery/gitops/gitops-delivery.ts';
import { PullDelivery, type JobQueue } from '../delivery/pull/pull-delivery.ts';
import type { DeliveryTarget, GitopsTarget } from '../delivery/select-delivery.ts';
import type { EmbeddedHost } from '../git/embedded-host/embedded-host.ts';
import type { ScopeEntry } from '../git/embedded-host/git-access.ts';
import type { GitCredential } from '../git/git-credential.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { GIT_USERNAME } from './git-source.ts';
import { insertGitCredential, mintGitCredential } from './store/git-credentials.ts';
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
  readonly jobs: JobQueue;
  /** The armored signature of a commit's bytes, by the organization's key. */
  readonly signCommit: (organizationId: string, payload: Buffer) => Promise<string>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly logger: Logger;
  /** Folder of the mirrors, one for each repository of another host. They can be deleted while the program is stopped. */
  readonly mirrorDir: string;
  /** Where this process reaches its own Git host. */
  readonly hostUrl: () => string;
}

/** The transports to targets, made when first needed and kept warm. */
export class Deliveries implements AsyncDisposable {
  readonly #deps: DeliveriesDeps;
  readonly #warm = new Map<string, GitopsDelivery>();

  constructor(deps: DeliveriesDeps) {
    this.#deps = deps;
  }

  /** @throws Error when the repository's record is gone or its bare repository cannot be made */
  async open(target: GitopsTarget): Promise<GitopsDelivery>;
  async open(target: DeliveryTarget): Promise<Delivery>;
  async open(target: DeliveryTarget): Promise<Delivery> {
    // Nothing to keep warm: the queues are rows.
    if (target.mode === 'pull') return new PullDelivery(this.#deps.jobs, target.clusterId);
    return await this.#openRepository(target);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const warm = [...this.#warm.values()];
    this.#warm.clear();
    await Promise.all(warm.map(async (delivery) => await delivery[Symbol.asyncDispose]()));
  }

  async #openRepository(target: GitopsTarget): Promise<GitopsDelivery> {
    const known = this.#warm.get(target.repositoryId);
    if (known !== undefined) {
      this.#warm.delete(target.repositoryId);
      this.#warm.set(target.repositoryId, known);
      return known;
    }
    const repository = await findRepositoryById(this.#deps.store.db, target.repositoryId);
    if (repository === undefined) throw new Error(`the repository ${target.repositoryId} is not recorded`);
    await this.#deps.host.ensureRepository(repository.name, { branch: repository.branch });
    const delivery = this.#gitops(repository);
    this.#warm.set(repository.id, delivery);
    await this.#coolDown();
    return delivery;
  }

  #gitops(repository: RepositoryRow): GitopsDelivery {
    const { clock, random, logger, mirrorDir, host, hostUrl, signCommit } = this.#deps;
    const { name, branch, layout } = repository;
    const where =
      repository.embedded === 1
        ? { url: repositoryUrl(hostUrl(), name), localPath: host.repositoryPath(name) }
        : { url: repository.url };
    return new GitopsDelivery({
      repository: { name, branch, layout, ...where },
      mirrorPath: join(mirrorDir, `${repository.id}.git`),
      mintCredential: async (scope) => await this.#mint(repository.id, scope),
      committer: COMMITTER,
      signCommit: async (payload) => await signCommit(repository.organization_id, payload),
      clock,
      random,
      logger,
    });
  }

  async #mint(repositoryId: string, scope: readonly ScopeEntry[]): Promise<GitCredential> {
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
    await oldest[1][Symbol.asyncDispose]();
  }
}
