import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ENVIRONMENT = {
  PATH: process.env['PATH'],
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'A person',
  GIT_AUTHOR_EMAIL: 'person@example.com',
  GIT_COMMITTER_NAME: 'A person',
  GIT_COMMITTER_EMAIL: 'person@example.com',
};

export function git(directory: string, ...args: string[]): string {
  return execFileSync('git', ['-C', directory, ...args], { env: ENVIRONMENT, encoding: 'utf8', stdio: 'pipe' }).trim();
}

/** A real bare repository, and a work tree from which a person pushes to it. */
export class GitRemote implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'git-source-'));
  readonly bare = join(this.folder, 'remote.git');
  readonly url = pathToFileURL(this.bare).href;
  readonly #work = join(this.folder, 'work');

  constructor() {
    mkdirSync(this.#work);
    git(this.folder, 'init', '--quiet', '--bare', '--initial-branch=main', this.bare);
    git(this.bare, 'config', 'uploadpack.allowFilter', 'true');
    git(this.bare, 'config', 'uploadpack.allowAnySHA1InWant', 'true');
    git(this.#work, 'init', '--quiet', '--initial-branch=main');
    git(this.#work, 'remote', 'add', 'origin', this.bare);
  }

  /** Writes files (null: removes one), commits and pushes; answers the commit. */
  push(files: Readonly<Record<string, string | Buffer | null>>, message = 'change'): string {
    for (const [path, content] of Object.entries(files)) {
      const file = join(this.#work, path);
      if (content === null) rmSync(file);
      else {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, content);
      }
    }
    git(this.#work, 'add', '--all');
    git(this.#work, 'commit', '--quiet', '--allow-empty', '--message', message);
    git(this.#work, 'push', '--quiet', '--force', 'origin', 'HEAD:main');
    return git(this.#work, 'rev-parse', 'HEAD');
  }

  /** Makes the next push one without the history before it, as after a force push. */
  forgetHistory(): void {
    git(this.#work, 'checkout', '--quiet', '--orphan', `anew-${Math.random().toString(36).slice(2)}`);
  }

  /** What `git fast-import` reads: many commits at once. */
  importStream(stream: string): void {
    execFileSync('git', ['-C', this.bare, 'fast-import', '--quiet'], {
      env: ENVIRONMENT,
      input: stream,
      stdio: 'pipe',
    });
    git(this.#work, 'pull', '--quiet', '--ff-only', 'origin', 'main');
  }

  /** Tree id of a directory at the branch's tip. */
  treeOf(path: string): string {
    return git(this.bare, 'rev-parse', `main:${path}`);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

export function manifest(
  name: string,
  change: { readonly namespace?: string; readonly version?: string } = {},
): string {
  const { namespace = 'shop', version = '6.5.0' } = change;
  return `apiVersion: apps.service.io/v1alpha1
kind: ApplicationInstance
metadata:
  name: ${name}
  namespace: ${namespace}
spec:
  catalogEntry: podinfo
  chart:
    type: oci
    url: oci://registry.test/charts/podinfo
    name: podinfo
    version: ${version}
`;
}

export function tombstone(name: string, generation = 2): string {
  return JSON.stringify({
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name,
    intentId: 'int-9',
    epoch: 1,
    generation,
    time: '2026-03-01T10:00:00.000Z',
  });
}
