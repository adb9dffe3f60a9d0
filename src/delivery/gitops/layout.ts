import { createHash } from 'node:crypto';
import type { Rendered } from '../../intent/rendered.ts';

/**
 * How cluster directories are laid out: `flat` is `clusters/<slug>`; `sharded` is `clusters/<first 2 hex of
 * SHA-256(slug)>/<slug>`, for more than about 1,000 clusters, since every commit rewrites the parent directory's tree.
 */
export type RepositoryLayout = 'flat' | 'sharded';

/** Folders inside a cluster's directory. */
export const APPS_FOLDER = 'apps';
export const OPERATIONS_FOLDER = 'operations';
export const TOMBSTONES_FOLDER = 'tombstones';
export const README_FILE = 'README.md';

/** How long a tombstone stays in Git, counted from its `time` (decisions, "Git"). */
export const TOMBSTONE_RETENTION_MS = 90 * 24 * 60 * 60 * 1000;

/** What a path inside a cluster's directory names, as far as its place tells. */
export type LayoutEntry =
  | {
      readonly kind: 'manifest';
      readonly folder: 'apps' | 'operations';
      readonly namespace: string;
      readonly name: string;
    }
  | { readonly kind: 'tombstone'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'readme' };

/** A cluster's directory from the repository's root, without a slash at either end. */
export function clusterDirectory(layout: RepositoryLayout, slug: string): string {
  if (layout === 'flat') return `clusters/${slug}`;
  const shard = createHash('sha256').update(slug).digest('hex').slice(0, 2);
  return `clusters/${shard}/${slug}`;
}

/** Where the manifest of an object stands, relative to the cluster's directory. */
export function manifestPathFor(ref: {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}): string {
  const folder = ref.kind === 'Operation' ? OPERATIONS_FOLDER : APPS_FOLDER;
  return `${folder}/${ref.namespace}/${ref.name}.yaml`;
}

/** Where the manifest that `rendered` writes or removes stands, relative to the cluster's directory. */
export function manifestPath(rendered: Rendered): string {
  const kind = rendered.kind === 'apply' ? rendered.object.kind : rendered.tombstone.kind;
  return manifestPathFor({ kind, namespace: rendered.intent.namespace, name: rendered.intent.name });
}

/** Where the tombstone of an object stands, relative to the cluster's directory. */
export function tombstonePath(ref: { readonly namespace: string; readonly name: string }): string {
  return `${TOMBSTONES_FOLDER}/${ref.namespace}/${ref.name}.json`;
}

/** Reads a path relative to the cluster's directory; `undefined` for anything that is not ours (a person's own file). */
export function parseLayoutPath(path: string): LayoutEntry | undefined {
  if (path === README_FILE) return { kind: 'readme' };
  const [folder, namespace, file, ...rest] = path.split('/');
  if (namespace === undefined || file === undefined || rest.length > 0) return undefined;
  if (folder === APPS_FOLDER || folder === OPERATIONS_FOLDER) {
    const name = stem(file, '.yaml');
    return name === undefined ? undefined : { kind: 'manifest', folder, namespace, name };
  }
  const name = folder === TOMBSTONES_FOLDER ? stem(file, '.json') : undefined;
  return name === undefined ? undefined : { kind: 'tombstone', namespace, name };
}

function stem(file: string, extension: string): string | undefined {
  return file.length > extension.length && file.endsWith(extension) ? file.slice(0, -extension.length) : undefined;
}
