import type { Logger } from '../../runtime/logger.ts';
import type { Projections } from './projections.ts';

/** Fewer are not worth a process. */
const PACKS_WORTH_TIDYING = 10;

/** Keeps the projections of thousands of clusters in order, one after the other: each costs a process, and none is urgent. */
export class ProjectionMaintenance {
  readonly #deps: {
    readonly projections: Projections;
    /** Packs a repository. */
    readonly tidy: (name: string, signal: AbortSignal) => Promise<void>;
    readonly logger: Logger;
  };
  #lane: Promise<void> = Promise.resolve();

  constructor(deps: {
    readonly projections: Projections;
    readonly tidy: (name: string, signal: AbortSignal) => Promise<void>;
    readonly logger: Logger;
  }) {
    this.#deps = deps;
  }

  /** Tidies those that have grown into many packs since the last time. Never rejects. */
  async tidyCrowded(stop: AbortSignal): Promise<void> {
    const names = this.#deps.projections.takeCrowded();
    if (names.length === 0) return;
    this.#lane = this.#lane.then(async () => {
      for (const name of names) if (!stop.aborted) await this.#attempt(name, async () => await this.#tidy(name, stop));
    });
    await this.#lane;
  }

  /** One look at every projection. @param wanted names that clusters have; asked for after what is there was listed */
  async turn(wanted: () => Promise<ReadonlySet<string>>, stop: AbortSignal): Promise<void> {
    const { projections } = this.#deps;
    await projections.removeRemains();
    const there = await projections.list();
    if (there.length === 0) return;
    const kept = await wanted();
    for (const name of there) {
      stop.throwIfAborted();
      await this.#attempt(name, async () => {
        if (!kept.has(name)) await projections.remove(name);
        else if ((await projections.packsOf(name)) >= PACKS_WORTH_TIDYING) await this.#tidy(name, stop);
      });
    }
  }

  async #tidy(name: string, stop: AbortSignal): Promise<void> {
    await this.#deps.tidy(name, stop);
    await this.#deps.projections.noteTidied(name);
  }

  async #attempt(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#deps.logger.warn({ err: error, projection: name }, 'a projection could not be tidied; trying again later');
    }
  }
}
