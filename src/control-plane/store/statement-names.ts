/** Texts that are counted, and those that may have a name: each named one takes memory in every connection's server process. */
const MAX_COUNTED = 2000;
const MAX_NAMED = 300;
/** A text that came so often is worth preparing. */
const WORTH_IT = 3;

/**
 * Names for statements that come again and again: under a name the server parses and plans one once for each connection.
 * Texts that differ each time, such as long lists, get none.
 */
export class StatementNames {
  readonly #counts = new Map<string, number>();
  readonly #names = new Map<string, string>();

  nameOf(text: string): string | undefined {
    const name = this.#names.get(text);
    if (name !== undefined || this.#names.size >= MAX_NAMED) return name;
    const count = (this.#counts.get(text) ?? 0) + 1;
    if (count < WORTH_IT) {
      if (this.#counts.size >= MAX_COUNTED) this.#counts.clear();
      this.#counts.set(text, count);
      return undefined;
    }
    this.#counts.delete(text);
    const given = `s${this.#names.size}`;
    this.#names.set(text, given);
    return given;
  }
}
