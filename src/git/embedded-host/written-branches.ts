import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const MAX_KNOWN = 10_000;

/** The one branch of each repository that is written: what its HEAD names, which does not change while the host runs. */
export class WrittenBranches {
  readonly #known = new Map<string, string>();

  /** `refs/heads/<branch>` of the bare repository at `path`. */
  async of(path: string): Promise<string> {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const ref = /^ref: (refs\/heads\/.+)\n?$/.exec(await readFile(join(path, 'HEAD'), 'utf8'))?.[1];
    if (ref === undefined) throw new Error(`HEAD of ${path} names no branch`);
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(path, ref);
    return ref;
  }
}
