import { RunningControlPlane } from '../../control-plane/running-control-plane.ts';
import { openStore, type Store } from '../../../src/control-plane/store/open-store.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { createLogger, type Logger } from '../../../src/runtime/logger.ts';
import { Killed, KillPoints } from './kill-points.ts';

/**
 * A control plane that ends in the middle of its work: at a write to its database, before it or once it is committed, after
 * which nothing that it still has in hand reaches the database. It comes back at the same address with what is durable.
 */
export class MortalPlane implements AsyncDisposable {
  readonly plane: RunningControlPlane;
  readonly writes: KillPoints;
  #life = { isOver: false };
  /** Resolves when it was killed; made anew at each start. */
  #killed = Promise.withResolvers<void>();

  private constructor(plane: RunningControlPlane, writes: KillPoints) {
    this.plane = plane;
    this.writes = writes;
  }

  static async start(
    clock: Clock,
    port: number,
    logger: Logger = createLogger('test', 'silent'),
  ): Promise<MortalPlane> {
    const writes = new KillPoints();
    const held: { mortal?: MortalPlane } = {};
    const early = { isOver: false };
    const open: typeof openStore = async (deps) => {
      const { mortal } = held;
      const life = mortal === undefined ? early : { isOver: false };
      if (mortal !== undefined) {
        mortal.#life = life;
        mortal.#killed = Promise.withResolvers<void>();
      }
      return mortalStore(await openStore(deps), writes, life, () => held.mortal?.kill());
    };
    const env = { SERVICE_LISTEN: `127.0.0.1:${port}` };
    const plane = await RunningControlPlane.start(clock, env, logger, { openStore: open });
    const mortal = new MortalPlane(plane, writes);
    mortal.#life = early;
    held.mortal = mortal;
    return mortal;
  }

  get isDead(): boolean {
    return this.#life.isOver;
  }

  kill(): void {
    this.#life.isOver = true;
    this.#killed.resolve();
  }

  /** Takes down what is left of it and starts it again. */
  async revive(): Promise<void> {
    this.kill();
    // What it still wanted to write fails, which is the point.
    await this.plane.stop().catch(() => undefined);
    for (;;) {
      try {
        return await this.plane.startAgain();
      } catch (error) {
        // Killed in its start, at the next of its kills.
        if (!(error instanceof Killed)) throw error;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.plane[Symbol.asyncDispose]();
  }
}

function mortalStore(store: Store, writes: KillPoints, life: { isOver: boolean }, kill: () => void): Store {
  return {
    db: store.db,
    ...(store.session === undefined ? {} : { session: store.session }),
    ping: async () => await store.ping(),
    write: async (work, options) => {
      if (life.isOver) throw new Killed();
      const moment = writes.next();
      if (moment === 'before') {
        kill();
        throw new Killed();
      }
      const result = await store.write(work, options);
      if (moment === 'after') kill();
      if (life.isOver) throw new Killed();
      return result;
    },
    [Symbol.asyncDispose]: async () => await store[Symbol.asyncDispose](),
  };
}
