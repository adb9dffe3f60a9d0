import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { EmbeddedHostDeps } from '../../../src/git/embedded-host/embedded-host.ts';
import type { ProjectionTarget } from '../../../src/git/projection/projection-target.ts';
import { git, startGitServer, type GitServer } from '../git-server.ts';

export const CLUSTERS = ['prod-eu', 'prod-us'] as const;

export function projectionOf(slug: string): ProjectionTarget {
  return {
    name: `clusters/${slug}`,
    organizationId: 'org-1',
    repository: 'acme',
    branch: 'main',
    directories: [`clusters/${slug}`, `clusters/00/${slug}`],
  };
}

/** A host whose clusters read projections of the repository `acme`, and a clone to write from with plain git. */
export class ProjectionStage implements AsyncDisposable {
  readonly server: GitServer;
  /** Where clusters read: the same host, or one that was started after it. */
  #reading: GitServer;
  readonly work: string;
  readonly #owned = new AsyncDisposableStack();

  private constructor(server: GitServer, work: string) {
    this.server = server;
    this.#reading = server;
    this.work = work;
  }

  static async start(
    slugs: readonly string[] = CLUSTERS,
    overrides: Partial<EmbeddedHostDeps> = {},
  ): Promise<ProjectionStage> {
    const server = await startGitServer(overrides);
    await server.host.ensureRepository('acme', { branch: 'main' });
    const projections = new Map(slugs.map((slug) => [`c-${slug}`, projectionOf(slug)]));
    const scope = slugs.map((slug) => ({ clusterId: `c-${slug}`, directory: `clusters/${slug}` }));
    server.tokens.set('write', { repository: 'acme', access: { access: 'write', scope, projections } });
    server.tokens.set('person', { repository: 'acme', access: { access: 'read' } });
    for (const slug of slugs) {
      const access = { access: 'read', projection: projectionOf(slug) } as const;
      server.tokens.set(`read-${slug}`, { repository: `clusters/${slug}`, access });
    }
    const work = await mkdtemp(join(server.folder, 'work-'));
    await git(work, ['clone', '--quiet', server.remote('acme', 'write'), '.']);
    return new ProjectionStage(server, work);
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
