/** Least-recently-used cache bounded by the bytes that it holds. */
export class ByteCache<Value> {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, { readonly value: Value; readonly bytes: number }>();
  #bytes = 0;

  constructor(deps: { readonly maxBytes: number }) {
    this.#maxBytes = deps.maxBytes;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Keeps `value`, unless it alone is larger than the cache. */
  set(key: string, value: Value, bytes: number): void {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#bytes -= known.bytes;
      this.#entries.delete(key);
    }
    if (bytes > this.#maxBytes) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#entries.delete(oldest);
      this.#bytes -= entry.bytes;
    }
  }

  get bytes(): number {
    return this.#bytes;
  }
}
