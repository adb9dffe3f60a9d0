import type { Values } from './chart-values.ts';

const MAX_KEPT = 1_000;

/**
 * Stands in for Helm's storage: the values that releases were made with, by their digest, for a rollback to bring back.
 * In memory and bounded, so a rollback after a restart of the sandbox brings back the chart with its default values.
 */
export class ReleaseStorage {
  readonly #values = new Map<string, Values>();

  put(configDigest: string, values: Values): void {
    this.#values.delete(configDigest);
    this.#values.set(configDigest, values);
    const oldest = this.#values.keys().next();
    if (this.#values.size > MAX_KEPT && oldest.done !== true) this.#values.delete(oldest.value);
  }

  get(configDigest: string): Values {
    return this.#values.get(configDigest) ?? {};
  }
}
