import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { EmbeddedHostDeps } from '../../../src/git/embedded-host/embedded-host.ts';
import type { Places, ProjectionTarget } from '../../../src/git/projection/projection-target.ts';
import { git, startGitServer, type GitServer } from '../git-server.ts';

export const CLUSTERS = ['prod-eu', 'prod-us'] as const;

/** @param places what is on record; absent: the repository was never moved */
export function projectionOf(slug: string, places?: () => Places | undefined): ProjectionTarget {
  return {
    name: `clusters/${slug}`,
    organizationId: 'org-1',
    repository: 'acme',
    branch: 'main',
    directory: `clusters/${slug}`,
    places: async () => places?.() ?? { now: `clusters/${slug}`, moves: [] },
  };
}

/** A host whose clusters read projections of the repository `acme`, and a clone to write from with plain git. */
export class ProjectionStage implements AsyncDisposable {
  readonly server: GitServer;
  /** Where clusters read: the same host, or one that was started after it. */
  #reading: GitServer;
  readonly work: string;
  /** Where directories are by what is on record, by slug, where that is not the flat place. */
  readonly places: Map<string, Places>;
  readonly #owned = new AsyncDisposableStack();

  private constructor(server: GitServer, work: string, places: Map<string, Places>) {
    this.server = server;
    this.#reading = server;
    this.work = work;
    this.places = places;
  }

  static async start(
    slugs: readonly string[] = CLUSTERS,
    overrides: Partial<EmbeddedHostDeps> = {},
  ): Promise<ProjectionStage> {
    const server = await startGitServer(overrides);
    await server.host.ensureRepository('acme', { branch: 'main' });
    const places = new Map<string, Places>();
    const target = (slug: string): ProjectionTarget => projectionOf(slug, () => places.get(slug));
    const projections = new Map(slugs.map((slug) => [`c-${slug}`, target(slug)]));
    const scope = slugs.map((slug) => ({ clusterId: `c-${slug}`, directory: `clusters/${slug}` }));
    server.tokens.set('write', { repository: 'acme', access: { access: 'write', scope, projections } });
    server.tokens.set('person', { repository: 'acme', access: { access: 'read' } });
    for (const slug of slugs) {
      const access = { access: 'read', projection: target(slug) } as const;
      server.tokens.set(`read-${slug}`, { repository: `clusters/${slug}`, access });
    }
    const work = await mkdtemp(join(server.folder, 'work-'));
    await git(work, ['clone', '--quiet', server.remote('acme', 'write'), '.']);
    return new ProjectionStage(server, work, places);
  }

  async write(path: string, text = `text of ${path}\n`): Promise<void> {
    await mkdir(dirname(join(this.work, path)), { recursive: true });
    await writeFile(join(this.work, path), text);
    await git(this.work, ['add', '-A']);
  }

  /** Commits what is staged for a cluster, as the writer does; gives the commit's id. */
  async commit(slug: string, subject = 'a change', ...args: readonly string[]): Promise<string> {
    const message = `${subject}\n\nbecause of ${subject}\n\nIntent-Id: int-1\nCluster-Id: c-${slug}\n`;
    await git(this.work, ['commit', '--quiet', '--allow-empty', '-m', message, ...args]);
    return git(this.work, ['rev-parse', 'HEAD']);
  }

  async push(): Promise<void> {
    await git(this.work, ['push', '--quiet', 'origin', 'HEAD:main']);
  }

  /** Writes a file of a cluster, commits and pushes it; gives the commit's id. */
  async bring(slug: string, name: string, text?: string): Promise<string> {
    await this.write(`clusters/${slug}/apps/shop/${name}.yaml`, text);
    const id = await this.commit(slug, `install ${name}`);
    await this.push();
    return id;
  }

  /** A commit past the host that moves a directory; gives its id. */
  async moveByHand(from: string, to: string, message = 'moved'): Promise<string> {
    await mkdir(dirname(join(this.work, to)), { recursive: true });
    await rename(join(this.work, from), join(this.work, to));
    return await this.commitByHand(message);
  }

  /** Commits the work tree as it is and pushes it past the host; gives the commit's id. */
  async commitByHand(message: string): Promise<string> {
    await git(this.work, ['add', '-A']);
    await git(this.work, ['commit', '--quiet', '--allow-empty', '-m', message]);
    await git(this.work, ['push', '--quiet', this.server.path('acme'), 'HEAD:main']);
    return git(this.work, ['rev-parse', 'HEAD']);
  }

  /** Git on the shared repository, past the host. */
  async shared(...args: readonly string[]): Promise<string> {
    return git(this.server.path('acme'), args);
  }

  /** Git on the projection as it lies on disk. */
  async projected(slug: string, ...args: readonly string[]): Promise<string> {
    return git(this.server.path(`clusters/${slug}`), args);
  }

  /** What the cluster's branch is at for the cluster itself. */
  async read(slug: string): Promise<string> {
    const output = await git(this.work, ['ls-remote', this.remote(slug), 'refs/heads/main']);
    return output.slice(0, 40);
  }

  remote(slug: string): string {
    return this.#reading.remote(`clusters/${slug}`, `read-${slug}`);
  }

  /** A fresh clone of the projection by its cluster. */
  async clone(slug: string): Promise<string> {
    const folder = await mkdtemp(join(this.server.folder, 'clone-'));
    await git(folder, ['clone', '--quiet', this.remote(slug), '.']);
    return folder;
  }

  /** From now on clusters read from another host on the same folder, which remembers nothing of the first. */
  async restart(): Promise<void> {
    const next = await startGitServer({ root: join(this.server.folder, 'repositories') });
    for (const [token, known] of this.server.tokens) next.tokens.set(token, known);
    this.#owned.use(next);
    this.#reading = next;
  }

  async dropProjection(slug: string): Promise<void> {
    await rm(this.server.path(`clusters/${slug}`), { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
    await this.server[Symbol.asyncDispose]();
  }
}
