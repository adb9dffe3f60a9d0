import type { Logger } from '../runtime/logger.ts';
import type { Storage, StoredEvent } from './storage.ts';

/** Hands every change to the server's own controllers, after the write that made it has been answered. */
export class ControllerLoop implements Disposable {
  readonly #controllers: readonly { react(event: StoredEvent): void }[];
  readonly #logger: Logger;
  readonly #unsubscribe: () => void;
  #waiting: StoredEvent[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  #settled: PromiseWithResolvers<void> | undefined;

  constructor(deps: {
    readonly storage: Storage;
    readonly controllers: readonly { react(event: StoredEvent): void }[];
    readonly logger: Logger;
  }) {
    this.#controllers = deps.controllers;
    this.#logger = deps.logger;
    this.#unsubscribe = deps.storage.subscribe((event) => {
      this.#waiting.push(event);
      this.#scheduled ??= setImmediate(() => this.#run());
    });
  }

  /** Resolves when the controllers have nothing left to do. */
  async settled(): Promise<void> {
    if (this.#scheduled === undefined) return;
    this.#settled ??= Promise.withResolvers();
    await this.#settled.promise;
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    this.#settled?.resolve();
  }

  #run(): void {
    const events = this.#waiting;
    this.#waiting = [];
    for (const event of events) {
      for (const controller of this.#controllers) this.#react(controller, event);
    }
    // What the controllers wrote comes round again, so that requests get their turn in between.
    if (this.#waiting.length > 0) {
      this.#scheduled = setImmediate(() => this.#run());
      return;
    }
    this.#scheduled = undefined;
    this.#settled?.resolve();
    this.#settled = undefined;
  }

  #react(controller: { react(event: StoredEvent): void }, event: StoredEvent): void {
    try {
      controller.react(event);
    } catch (error) {
      const { name, namespace } = event.object.metadata;
      this.#logger.warn({ err: error, resource: event.resource, namespace, name }, 'sandbox controller failed');
    }
  }
}
