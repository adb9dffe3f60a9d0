/** Requests of one cluster that are held at once: a restart, a second replica (decisions, "Jobs"). */
const MAX_HELD = 3;

/** Keeps count of held requests; a cluster's fourth ends its oldest, so that a client that lost its connections gets in. */
export class HeldRequests {
  readonly #held = new Map<string, AbortController[]>();

  /** Holds a request. `signal` aborts when it must answer; dispose it when it has. */
  hold(clusterId: string): Disposable & { readonly signal: AbortSignal } {
    const controller = new AbortController();
    const held = this.#held.get(clusterId) ?? [];
    held.push(controller);
    this.#held.set(clusterId, held);
    if (held.length > MAX_HELD) held.shift()?.abort(new Error('a newer request of this cluster is held'));
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        const left = (this.#held.get(clusterId) ?? []).filter((other) => other !== controller);
        if (left.length === 0) this.#held.delete(clusterId);
        else this.#held.set(clusterId, left);
      },
    };
  }

  count(clusterId: string): number {
    return this.#held.get(clusterId)?.length ?? 0;
  }
}
