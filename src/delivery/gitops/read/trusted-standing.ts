import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What was found to be trusted last. */
export interface Standing {
  readonly tip: string;
  /** The commit whose signature the directory at `tip` stands on. */
  readonly signed: string;
}

/**
 * Keeps what was trusted last of one target. It lies beside the copies and not in one: a copy is thrown away whenever it
 * turns out to be broken, and what had been refused must not be trusted for that.
 */
export class TrustedStanding {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  async read(): Promise<Standing | undefined> {
    const [tip, signed] = (await readFile(this.#file, 'utf8').catch(() => '')).trim().split(' ');
    return tip === undefined || signed === undefined || tip === '' ? undefined : { tip, signed };
  }

  async write({ tip, signed }: Standing): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    const draft = `${this.#file}.new`;
    await writeFile(draft, `${tip} ${signed}\n`);
    await rename(draft, this.#file);
  }

  async forget(): Promise<void> {
    await rm(this.#file, { force: true });
  }
}
