import { EMPTY_TREE_ID } from '../../git/git-object.ts';
import type { DesiredItem, Removal, SourceFault } from '../delivery.ts';
import type { GitCache, TreeEntry } from './git-cache.ts';
import { GitFault } from './git-fault.ts';
import { directoryFiles, readDirectoryFile, type DirectoryFile, type FileReading } from './read-directory.ts';

export interface DirectoryReaderDeps {
  readonly cache: GitCache;
  /** The cluster's directory; empty for the whole repository. */
  readonly path: string;
  readonly maxBytes: number;
}

/** A cluster's directory at one commit. */
export interface DirectoryReading {
  /** Tree id of the directory. */
  readonly revision: string;
  readonly objects: readonly DesiredItem[];
  readonly removals: readonly Removal[];
  readonly faults: readonly SourceFault[];
  /** Every manifest file, readable or not. */
  readonly paths: readonly string[];
}

const MAX_FILES = 20_000;

/** Reads a cluster's directory; a file that was read before under the same content is not read again. */
export class DirectoryReader {
  readonly #deps: DirectoryReaderDeps;
  #known: ReadonlyMap<string, FileReading> = new Map();

  constructor(deps: DirectoryReaderDeps) {
    this.#deps = deps;
  }

  /** @throws GitFault when the listing or a content cannot be had; a file that makes no sense is a fault in the answer */
  async read(commit: string, signal: AbortSignal): Promise<DirectoryReading> {
    const { cache, path } = this.#deps;
    const entries = await cache.list(commit, signal);
    if (entries.length > MAX_FILES) {
      throw new GitFault('broken', `the directory holds ${entries.length} files; at most ${MAX_FILES} are read`);
    }
    const revision = path === '' ? await cache.rootTree(commit, signal) : treeIdOf(entries, path);
    const files = directoryFiles(entries, path === '' ? '' : `${path}/`);
    const readings = await this.#readAll(files, signal);
    return {
      revision,
      objects: readings.flatMap((reading) => (reading.kind === 'object' ? [reading.item] : [])),
      removals: readings.flatMap((reading) => (reading.kind === 'removal' ? [reading.removal] : [])),
      faults: readings.flatMap((reading) => (reading.kind === 'fault' ? [reading.fault] : [])),
      paths: files.flatMap((file) => (file.kind === 'file' && file.place.kind === 'manifest' ? [file.key] : [])),
    };
  }

  async #readAll(files: readonly DirectoryFile[], signal: AbortSignal): Promise<readonly FileReading[]> {
    const unread = files.flatMap((file) => (file.kind === 'file' && !this.#known.has(cacheKey(file)) ? [file.id] : []));
    const contents = await this.#deps.cache.read(unread, this.#deps.maxBytes, signal);
    const known = new Map<string, FileReading>();
    const readings = files.map((file): FileReading => {
      if (file.kind === 'fault') return file;
      const key = cacheKey(file);
      const reading = this.#known.get(key) ?? readDirectoryFile(file, contents.get(file.id) ?? Buffer.alloc(0));
      known.set(key, reading);
      return reading;
    });
    this.#known = known;
    return readings;
  }
}

function cacheKey({ key, id }: { readonly key: string; readonly id: string }): string {
  return `${id} ${key}`;
}

function treeIdOf(entries: readonly TreeEntry[], path: string): string {
  const entry = entries.find((candidate) => candidate.path === path);
  if (entry !== undefined && entry.type !== 'tree') throw new GitFault('broken', `${path} is not a directory`);
  // Git has no empty directories: one that is not there is an empty tree.
  return entry?.id ?? EMPTY_TREE_ID;
}
