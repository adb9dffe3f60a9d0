import type { Operator } from '../../../src/operator/start-operator.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { Logger } from '../../../src/runtime/logger.ts';
import type { FaultRequest } from '../../../src/sandbox/faults.ts';
import type { OperatorWorld } from '../../operator/operator-world.ts';
import type { AgentLine } from './agent-line.ts';
import { KillPoints } from './kill-points.ts';

/** The Lease of an operator that was killed is taken over after 8 s. */
const LEASE_MS = 10_000;

/**
 * An operator that ends in the middle of its work: at a write to its API server, before it was carried out or before it was
 * answered, after which nothing of it reaches the cluster or the control plane any more.
 */
export class MortalOperator {
  readonly writes = new KillPoints();
  readonly #world: OperatorWorld;
  readonly #line: AgentLine;
  #operator: Operator | undefined;
  #isDead = false;

  constructor(world: OperatorWorld, line: AgentLine) {
    this.#world = world;
    this.#line = line;
    const { faults } = world.cluster.sandbox;
    // Looked at in this order for each request, until one of them takes it.
    let moment: 'before' | 'after' | undefined;
    faults.add({
      cut: 'before',
      match: (request) => {
        if (!isOperators(request)) return false;
        if (this.#isDead) return true;
        moment = isCounted(request) ? this.writes.next() : undefined;
        if (moment !== undefined) this.kill();
        return moment === 'before';
      },
    });
    faults.add({ cut: 'after', match: (request) => isOperators(request) && moment === 'after' && !request.watch });
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  async start(clock: Clock, logger?: Logger): Promise<void> {
    this.#operator = await this.#world.start(clock, logger);
  }

  kill(): void {
    this.#isDead = true;
    this.#line.down();
  }

  /** Takes down what is left of it and starts another; the line is up then unless it is to stay down. */
  async revive(clock: Clock & { skip(ms: number): void }, isOffline: boolean): Promise<void> {
    this.kill();
    if (this.#operator !== undefined) await this.#world.stop(this.#operator).catch(() => undefined);
    this.#isDead = false;
    if (!isOffline) this.#line.up();
    await this.start(clock);
    clock.skip(LEASE_MS);
  }
}

function isOperators({ userAgent }: FaultRequest): boolean {
  return userAgent?.startsWith('service-operator') === true;
}

/** The Lease is renewed at times of its own, which would make each run another one. */
function isCounted({ method, path }: FaultRequest): boolean {
  return method !== 'GET' && !path.includes('/leases/') && !path.includes('/events');
}
