import { setImmediate as turn } from 'node:timers/promises';
import { EMPTY_TREE_ID } from '../../../git/git-object.ts';
import type { DesiredItem, Removal, SourceFault } from '../../delivery.ts';
import type { GitCache } from './git-cache.ts';
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
/** Read in one turn of the event loop: the operator's Lease and polls wait meanwhile. */
const TURN_FILES = 64;
const TURN_BYTES = 128 * 1024;

/** Reads a cluster's directory; a file that was read before under the same content is not read again. */
export class DirectoryReader {
  readonly #deps: DirectoryReaderDeps;
  #known: ReadonlyMap<string, FileReading> = new Map();

  constructor(deps: DirectoryReaderDeps) {
    this.#deps = deps;
  }

  /** Tree id of the directory at a commit, without reading it. @throws GitFault */
  async revision(commit: string, signal: AbortSignal): Promise<string> {
    // Git has no empty directories: one that is not there is an empty tree.
    return (await this.#deps.cache.directoryTree(commit, signal)) ?? EMPTY_TREE_ID;
  }

  /** @throws GitFault when the listing or a content cannot be had; a file that makes no sense is a fault in the answer */
  async read(commit: string, signal: AbortSignal): Promise<DirectoryReading> {
    const { cache, path } = this.#deps;
    const entries = await cache.list(commit, signal);
    if (entries.length > MAX_FILES) {
      throw new GitFault('broken', `the directory holds ${entries.length} files; at most ${MAX_FILES} are read`);
    }
    const revision = await this.revision(commit, signal);
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
    const known = new Map<string, FileReading>();
    const unread = new Map<string, Extract<DirectoryFile, { kind: 'file' }>[]>();
    for (const file of files) {
      if (file.kind === 'fault') continue;
      const reading = this.#known.get(cacheKey(file));
      if (reading === undefined) unread.set(file.id, [...(unread.get(file.id) ?? []), file]);
      else known.set(cacheKey(file), reading);
    }
    const take = async (contents: ReadonlyMap<string, Buffer | number>): Promise<void> => {
      let [count, bytes] = [0, 0];
      for (const [id, content] of contents) {
        for (const file of unread.get(id) ?? []) known.set(cacheKey(file), readDirectoryFile(file, content));
        count += 1;
        bytes += typeof content === 'number' ? 0 : content.length;
        if (count < TURN_FILES && bytes < TURN_BYTES) continue;
        [count, bytes] = [0, 0];
        await turn(undefined, { signal });
      }
    };
    await this.#deps.cache.read([...unread.keys()], this.#deps.maxBytes, take, signal);
    this.#known = known;
    return files.flatMap((file): readonly FileReading[] => {
      const reading = file.kind === 'fault' ? file : known.get(cacheKey(file));
      return reading === undefined ? [] : [reading];
    });
  }
}

function cacheKey({ key, id }: { readonly key: string; readonly id: string }): string {
  return `${id} ${key}`;
}
