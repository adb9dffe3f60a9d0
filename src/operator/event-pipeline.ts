import { EventBatcher } from '../events/report/event-batcher.ts';
import { EventReporter } from '../events/report/event-reporter.ts';
import type { Reporter, StatusChange } from '../events/report/reporter.ts';
import { Sequence, type SequenceDeps } from '../events/report/sequence.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import type { Condition } from '../protocol/condition.ts';
import type { AgentEvent } from '../protocol/event.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { Reason } from '../resources/reasons.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { AgentSession } from './agent-session.ts';
import { EventLogWatch } from './event-log-watch.ts';
import { postEvents } from './post-events.ts';

export interface EventPipelineDeps {
  readonly api: ClusterApi;
  readonly namespace: string;
  /** Of the term that the events are numbered in. */
  readonly lease: SequenceDeps['lease'];
  readonly labels: () => Readonly<Record<string, string>>;
  readonly session: AgentSession;
  readonly batch: () => { readonly size: number; readonly ms: number };
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly onOverflow: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
  /** All that a full snapshot sends, once the buffer has drained after drops. */
  readonly snapshot: () => readonly StatusChange[];
  readonly capacity?: number;
}

/** reporter ──► buffer ──► batcher ──► `POST /api/agent/events`. */
export class EventPipeline implements Reporter {
  readonly #batcher: EventBatcher;
  readonly #reporter: EventReporter;
  #dropped = 0;
  #told = 0;

  constructor(deps: EventPipelineDeps) {
    const { api, clock, namespace, labels, lease } = deps;
    const log = new EventLogWatch();
    const sequence = new Sequence({ api, clock, namespace, labels, lease });
    this.#batcher = new EventBatcher({
      ...deps,
      post: async (events, signal) => {
        const outcome = await postEvents(deps.session, events, signal);
        if (outcome.state === 'accepted' && log.hasForgotten(outcome.log)) {
          deps.logger.warn('the control plane has forgotten events that it had taken; a full snapshot follows');
          this.#tellAll(deps.snapshot());
        }
        return outcome;
      },
      sequence: (signal) => sequence.next(signal),
      onDropped: (dropped) => {
        this.#dropped = dropped;
        // The condition is itself an event that may displace another: told at each doubling, it cannot feed on itself.
        if (dropped < this.#told * 2) return;
        this.#told = Math.max(1, dropped);
        deps.onOverflow(overflowing(dropped));
      },
      onDrained: () => {
        this.#told = 0;
        this.#tellAll(deps.snapshot());
        deps.onOverflow(withinBounds(this.#dropped));
      },
    });
    this.#reporter = new EventReporter({ clock, enqueue: (event) => this.#batcher.enqueue(event) });
  }

  get dropped(): number {
    return this.#dropped;
  }

  statusChanged(change: StatusChange): void {
    this.#reporter.statusChanged(change);
  }

  /** Whether the control plane has not yet taken all that was said of the object. */
  owes({ metadata }: KubeObject): boolean {
    return this.#batcher.owes(metadata.uid ?? '');
  }

  intervalChanged(): void {
    this.#batcher.intervalChanged();
  }

  /** An event that is no change of a status. */
  enqueue(event: AgentEvent): void {
    this.#batcher.enqueue(event);
  }

  beat(event: AgentEvent): void {
    this.#batcher.beat(event);
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#batcher.run(signal);
  }

  async drain(signal: AbortSignal): Promise<void> {
    await this.#batcher.drain(signal);
  }

  #tellAll(changes: readonly StatusChange[]): void {
    for (const change of changes) this.statusChanged(change);
  }
}

function overflowing(dropped: number): Omit<Condition, 'lastTransitionTime'> {
  return {
    type: 'BufferOverflow',
    status: 'True',
    reason: Reason.EventsDropped,
    message: `${dropped} or more events were dropped since the operator started; a full snapshot follows once the buffer is empty`,
  };
}

function withinBounds(dropped: number): Omit<Condition, 'lastTransitionTime'> {
  return {
    type: 'BufferOverflow',
    status: 'False',
    reason: Reason.BufferWithinBounds,
    message: `a full snapshot was sent after ${dropped} events had been dropped since the operator started`,
  };
}
