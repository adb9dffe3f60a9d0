import { EventBatcher, type EventBatcherDeps, type PostOutcome } from '../../../src/events/report/event-batcher.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';

export function anEvent(name: string, change: Partial<AgentEvent> = {}): AgentEvent {
  return {
    eventKey: `key-${name}`,
    kind: 'ConditionTransition',
    resourceRef: { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', name },
    conditions: [{ type: 'Ready', status: 'True', reason: 'HelmReleaseReady' }],
    ...change,
  };
}

/** A running batcher whose posts end as `answer` says. */
export class BatcherRun implements AsyncDisposable {
  readonly clock = new ManualClock();
  /** Names of the events of each post, in order. */
  readonly posts: string[][] = [];
  readonly sent: AgentEvent[] = [];
  readonly drops: number[] = [];
  drained = 0;
  batch = { size: 100, ms: 1000 };
  answer: (events: readonly AgentEvent[]) => PostOutcome | Promise<PostOutcome> = () => ({ state: 'accepted' });
  sequence: () => Promise<string> | string;
  readonly batcher: EventBatcher;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(deps: Partial<EventBatcherDeps> = {}) {
    let counter = 0;
    this.sequence = () => `1.${counter++}`;
    this.batcher = new EventBatcher({
      post: async (events) => {
        this.posts.push(events.map(({ resourceRef }) => resourceRef.name));
        const outcome = await this.answer(events);
        if (outcome.state === 'accepted') this.sent.push(...events);
        return outcome;
      },
      sequence: async () => this.sequence(),
      batch: () => this.batch,
      clock: this.clock,
      random: () => 0,
      logger: createLogger('test', 'silent'),
      onDropped: (dropped) => void this.drops.push(dropped),
      onDrained: () => {
        this.drained += 1;
      },
      ...deps,
    });
    this.#ended = this.batcher.run(this.#stop.signal);
  }

  add(...names: string[]): void {
    for (const name of names) this.batcher.enqueue(anEvent(name));
  }

  /** Lets everything run that needs no time. */
  async rest(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  async after(ms: number): Promise<void> {
    await this.rest();
    this.clock.advance(ms);
    await this.rest();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}
