const MOST = 1000;

/** Objects that a watch saw go. It may see that before the write that asked for it is answered. */
export class RecentUids {
  readonly #uids = new Set<string>();

  add(uid: string): void {
    this.#uids.add(uid);
    const [oldest] = this.#uids;
    if (this.#uids.size > MOST && oldest !== undefined) this.#uids.delete(oldest);
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }
}
