import { KubeError } from '../kube/cluster-api.ts';
import { KIND_NOT_FOUND } from '../kube/kube-fault.ts';
import { Reason } from '../resources/reasons.ts';
import type { Clock } from '../runtime/clock.ts';

export interface Ailment {
  readonly reason: Reason;
  readonly message: string;
}

interface Faulty {
  readonly timer: AbortController;
  ailment: Ailment;
  lasts: boolean;
}

/** So long a fault may last before it is told: an API server that restarts is none. In milliseconds. */
export const TOLERATED_MS = 30_000;

/** Whether the controllers can see and say what they are there for. Told at each change, never for a passing fault. */
export class WatchHealth implements Disposable {
  readonly #clock: Clock;
  readonly #onChange: (ailment: Ailment | undefined) => void;
  readonly #faulty = new Map<string, Faulty>();

  constructor(deps: { readonly clock: Clock; readonly onChange: (ailment: Ailment | undefined) => void }) {
    this.#clock = deps.clock;
    this.#onChange = deps.onChange;
  }

  /** `what` in words ("ApplicationInstance cannot be watched"); an undefined fault says that it works. */
  note(what: string, fault: unknown): void {
    const known = this.#faulty.get(what);
    if (fault === undefined) {
      this.#faulty.delete(what);
      known?.timer.abort();
      if (known?.lasts === true) this.#tell();
      return;
    }
    const ailment = ailmentOf(what, fault);
    if (known !== undefined) {
      const isNew = known.ailment.reason !== ailment.reason;
      known.ailment = ailment;
      if (known.lasts && isNew) this.#tell();
      return;
    }
    const faulty: Faulty = { timer: new AbortController(), ailment, lasts: false };
    this.#faulty.set(what, faulty);
    this.#clock.sleep(TOLERATED_MS, faulty.timer.signal).then(
      () => {
        faulty.lasts = true;
        this.#tell();
      },
      () => undefined,
    );
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#faulty.values()) timer.abort();
    this.#faulty.clear();
  }

  #tell(): void {
    const lasting = [...this.#faulty.values()].filter(({ lasts }) => lasts).map(({ ailment }) => ailment);
    const [first] = lasting;
    if (first === undefined) this.#onChange(undefined);
    else this.#onChange({ reason: first.reason, message: lasting.map(({ message }) => message).join('; ') });
  }
}

function ailmentOf(what: string, fault: unknown): Ailment {
  const said = fault instanceof Error ? fault.message : String(fault);
  const status = fault instanceof KubeError ? fault.status : undefined;
  if (fault instanceof KubeError && fault.reason === KIND_NOT_FOUND) {
    return { reason: Reason.DefinitionMissing, message: `${what}: ${said}` };
  }
  if (status === 401 || status === 403) {
    return {
      reason: Reason.OperatorForbidden,
      message: `${what}: ${said}; apply what 'servicectl operator manifest' prints`,
    };
  }
  return { reason: Reason.ControllerFailed, message: `${what}: ${said}` };
}
