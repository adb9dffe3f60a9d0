import type { Condition } from '../protocol/condition.ts';
import { WatchHealth, type Ailment } from '../reconcile/watch-health.ts';
import { Reason } from '../resources/reasons.ts';
import type { Clock } from '../runtime/clock.ts';

/** The only writer of `ControllersHealthy`: True once every controller runs, False while one lastingly cannot. */
export class ControllerHealth implements Disposable {
  readonly #set: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
  readonly #watches: WatchHealth;
  #ailment: Ailment | undefined;
  #isRunning = false;

  constructor(deps: {
    readonly clock: Clock;
    readonly set: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
  }) {
    this.#set = deps.set;
    this.#watches = new WatchHealth({
      clock: deps.clock,
      onChange: (ailment) => {
        this.#ailment = ailment;
        this.#tell();
      },
    });
  }

  /** Every controller has its first lists. */
  running(): void {
    this.#isRunning = true;
    this.#tell();
  }

  /** `what` does not work for this fault; undefined: it works (again). */
  note(what: string, fault: unknown): void {
    this.#watches.note(what, fault);
  }

  [Symbol.dispose](): void {
    this.#watches[Symbol.dispose]();
  }

  #tell(): void {
    const type = 'ControllersHealthy';
    if (this.#ailment !== undefined) this.#set({ type, status: 'False', ...this.#ailment });
    else if (this.#isRunning) {
      const message = 'Source, apply and reconcile loops run.';
      this.#set({ type, status: 'True', reason: Reason.ControllersRunning, message });
    }
  }
}
