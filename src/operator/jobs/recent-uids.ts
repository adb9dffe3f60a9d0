/** Ids that were seen lately: of objects that a watch saw go, which it may before the write that asked for it is answered. */
export class RecentUids {
  readonly #uids = new Set<string>();
  readonly #most: number;

  constructor(most = 1000) {
    this.#most = most;
  }

  add(uid: string): void {
    this.#uids.add(uid);
    const [oldest] = this.#uids;
    if (this.#uids.size > this.#most && oldest !== undefined) this.#uids.delete(oldest);
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }
}
