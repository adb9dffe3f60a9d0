import { EMPTY_TREE_ID } from '../../../git/git-object.ts';
import { MODE_DIRECTORY, MODE_FILE, type GitTree } from '../../../git/git-tree.ts';
import { TOMBSTONE_RETENTION_MS, TOMBSTONES_FOLDER } from '../layout.ts';
import { readTombstoneFacts } from './manifest-facts.ts';

/** Where trees and blobs are read from. */
export interface BlobReader {
  readTree(id: string): Promise<GitTree>;
  readBlob(id: string): Promise<Buffer>;
}

const MAX_REMEMBERED = 20_000;

/**
 * Finds tombstones that have stood for 90 days. What a folder's tombstones say is remembered by the folder's tree id,
 * so an unchanged folder is not read again. One that cannot be read stays: it names something a person must look at.
 */
export class ExpiredTombstones {
  readonly #byTree = new Map<string, ReadonlyMap<string, number>>();

  /** Paths relative to the cluster's directory, whose tree is `directoryId`. */
  async find(reader: BlobReader, directoryId: string | undefined, now: Date): Promise<readonly string[]> {
    if (directoryId === undefined || directoryId === EMPTY_TREE_ID) return [];
    const folder = (await reader.readTree(directoryId)).get(TOMBSTONES_FOLDER);
    if (folder?.mode !== MODE_DIRECTORY) return [];
    const expired: string[] = [];
    for (const [namespace, entry] of (await reader.readTree(folder.id)).entries()) {
      if (entry.mode !== MODE_DIRECTORY) continue;
      for (const [file, time] of await this.#times(reader, entry.id)) {
        if (time + TOMBSTONE_RETENTION_MS <= now.getTime()) expired.push(`${TOMBSTONES_FOLDER}/${namespace}/${file}`);
      }
    }
    return expired;
  }

  async #times(reader: BlobReader, treeId: string): Promise<ReadonlyMap<string, number>> {
    const known = this.#byTree.get(treeId);
    if (known !== undefined) return known;
    const files = [...(await reader.readTree(treeId)).entries()].filter(
      ([name, { mode }]) => mode === MODE_FILE && name.endsWith('.json'),
    );
    const times = new Map<string, number>();
    await Promise.all(
      files.map(async ([name, { id }]) => {
        const { time } = readTombstoneFacts((await reader.readBlob(id)).toString('utf8'));
        if (time !== undefined) times.set(name, time.getTime());
      }),
    );
    if (this.#byTree.size >= MAX_REMEMBERED) this.#byTree.clear();
    this.#byTree.set(treeId, times);
    return times;
  }
}
