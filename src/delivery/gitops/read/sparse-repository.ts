import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface SparseRepository {
  readonly directory: string;
  readonly url: string;
  readonly branch: string;
  readonly path: string;
}

/**
 * Writes the files that make a directory, after `git init`, a partial clone (contents are fetched when asked for) with a
 * sparse checkout in cone mode of one directory: what `git clone --filter=blob:none --sparse` and `git sparse-checkout set`
 * write, without their processes. The address and names were checked before (`targetIsUnusable`).
 */
export async function configureSparseRepository(repository: SparseRepository): Promise<void> {
  const git = join(repository.directory, '.git');
  const { url, branch, path } = repository;
  const lines = [
    '[core]',
    'repositoryformatversion = 1',
    'bare = false',
    `sparseCheckout = ${path !== ''}`,
    `sparseCheckoutCone = ${path !== ''}`,
    '[remote "origin"]',
    `url = ${quoted(url)}`,
    `fetch = ${quoted(`+refs/heads/${branch}:refs/remotes/origin/${branch}`)}`,
    'tagOpt = --no-tags',
    'promisor = true',
    'partialclonefilter = blob:none',
  ];
  await writeFile(join(git, 'config'), `${lines.join('\n')}\n`);
  if (path === '') return;
  await mkdir(join(git, 'info'), { recursive: true });
  await writeFile(join(git, 'info', 'sparse-checkout'), conePatterns(path));
}

/** Cone-mode patterns of one directory: each parent with its files but none of its directories, then the directory. */
export function conePatterns(path: string): string {
  const segments = path.split('/');
  const parents = segments.slice(1).map((_, index) => segments.slice(0, index + 1).join('/'));
  const lines = ['/*', '!/*/', ...parents.flatMap((parent) => [`/${parent}/`, `!/${parent}/*/`]), `/${path}/`];
  return `${lines.join('\n')}\n`;
}

function quoted(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
