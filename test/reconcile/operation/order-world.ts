import { deepEqual, ok } from 'node:assert/strict';
import { KubeError } from '../../../src/kube/cluster-api.ts';
import type { Verdict } from '../../../src/reconcile/operation/decide-operation.ts';
import { ENDS, standingOf } from '../../../src/reconcile/operation/operation-standing.ts';
import { passOperation, type OperationEffects } from '../../../src/reconcile/operation/pass-operation.ts';
import type { RunState } from '../../../src/reconcile/operation/template-runner.ts';
import type { Operation } from '../../../src/resources/operation.ts';
import { Reason } from '../../../src/resources/reasons.ts';

export const RETRIES = 2;
const DEADLINE_SECONDS = 600;
const PLAN = { template: 'run-job', parameters: {}, deadlineSeconds: DEADLINE_SECONDS, retries: RETRIES } as const;
const BARRED: Verdict = { kind: 'barred', reason: Reason.ApprovalMissing, message: 'no approval' };

/** One thing that happens to an operation. */
export type Happening =
  /** A pass; from its effect number `diesAt` on the operator is dead, before or after that effect was made. */
  | { readonly kind: 'pass'; readonly diesAt: number; readonly isAfter: boolean; readonly isLate: boolean }
  /** Somebody asks for the cancel while a pass is at its effect number `at`. */
  | { readonly kind: 'cancelled pass'; readonly at: number }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'verdict'; readonly mayRun: boolean }
  | { readonly kind: 'pause'; readonly isOn: boolean }
  | { readonly kind: 'clock'; readonly seconds: number }
  | { readonly kind: 'try'; readonly state: 'running' | 'succeeded' | 'failed' | 'failed for good' | 'gone' }
  | { readonly kind: 'start'; readonly isRefused: boolean }
  | { readonly kind: 'faults'; readonly observe: boolean; readonly stop: boolean };

class Died extends Error {}

/** An operation, the work that is done for it, and operators that come and die. It holds what must hold after each step. */
export class OrderWorld {
  readonly #isStoppable: boolean;
  readonly #made = new Map<number, RunState>();
  /** How often each try had its effect. */
  readonly #effects = new Map<number, number>();
  readonly #story: string[] = [];
  #stored: Operation = {
    apiVersion: 'ops.service.io/v1alpha1',
    kind: 'Operation',
    metadata: { name: 'job', namespace: 'shop', uid: 'u', resourceVersion: '1', generation: 1 },
    spec: { template: 'run-job' },
  };
  /** As the watch showed it last. */
  #watched = this.#stored;
  #now = Date.parse('2026-03-01T10:00:00.000Z');
  #mayRun = true;
  #isPaused = false;
  #startIsRefused = false;
  #observeFails = false;
  #stopFails = false;
  /** Nothing had been written down when the cancel was asked for. */
  #wasCancelledFirst = false;
  #wasStopped = false;
  #isWithdrawn = false;
  #end: string | undefined;

  constructor(isStoppable: boolean) {
    this.#isStoppable = isStoppable;
  }

  get story(): string {
    return this.#story.join('\n');
  }

  async happen(happening: Happening): Promise<void> {
    this.#story.push(JSON.stringify(happening));
    switch (happening.kind) {
      case 'pass':
        await this.#pass(happening);
        break;
      case 'cancelled pass':
        await this.#pass({ diesAt: 99, isAfter: false, isLate: false, cancelAt: happening.at });
        break;
      case 'cancel':
        this.#cancel();
        break;
      case 'verdict':
        this.#mayRun = happening.mayRun;
        break;
      case 'pause':
        this.#isPaused = happening.isOn;
        break;
      case 'clock':
        this.#now += happening.seconds * 1000;
        break;
      case 'try':
        this.#tryBecomes(happening.state);
        break;
      case 'start':
        this.#startIsRefused = happening.isRefused;
        break;
      case 'faults':
        this.#observeFails = happening.observe;
        this.#stopFails = happening.stop;
    }
    this.#check();
  }

  /** Whatever happened, it ends once the operator is left alone and its time is over. */
  async settle(): Promise<void> {
    this.#mayRun = true;
    this.#isPaused = false;
    for (let turn = 0; turn < 8; turn += 1) {
      await this.happen({ kind: 'pass', diesAt: 99, isAfter: false, isLate: false });
      await this.happen({ kind: 'clock', seconds: DEADLINE_SECONDS });
    }
    ok(this.#end !== undefined, 'it never ended');
  }

  #cancel(): void {
    if (this.#stored.spec.cancel === true) return;
    if (standingOf(this.#stored).kind === 'waiting') this.#wasCancelledFirst = true;
    this.#store({ ...this.#stored, spec: { ...this.#stored.spec, cancel: true } });
  }

  #tryBecomes(state: Extract<Happening, { kind: 'try' }>['state']): void {
    const { attempts = 0, begun = 0 } = this.#stored.status ?? {};
    const now = this.#made.get(attempts);
    if (now?.state !== 'running') return;
    // One that goes before it was known to have begun cannot be told from one that never did.
    if (state === 'gone' && begun < attempts) return;
    if (state === 'gone') this.#made.delete(attempts);
    if (state === 'succeeded') this.#made.set(attempts, { state, reason: Reason.JobCompleted, message: 'done' });
    if (state === 'failed' || state === 'failed for good') {
      const isFinal = state === 'failed for good';
      this.#made.set(attempts, { state: 'failed', reason: Reason.JobFailed, message: 'bad', isFinal });
    }
  }

  async #pass(how: {
    readonly diesAt: number;
    readonly isAfter: boolean;
    readonly isLate: boolean;
    readonly cancelAt?: number;
  }): Promise<void> {
    if (!how.isLate) this.#watched = this.#stored;
    let count = 0;
    const effect = async <T>(name: string, act: () => T): Promise<T> => {
      count += 1;
      if (count === how.cancelAt) this.#cancel();
      if (count >= how.diesAt && !how.isAfter) throw new Died();
      const result = act();
      this.#story.push(`  ${name}`);
      if (count >= how.diesAt) throw new Died();
      return result;
    };
    try {
      const again = await passOperation(this.#work(effect), this.#watched, this.#isPaused ? 'paused' : undefined);
      if (this.#stored.status?.phase === 'Blocked') ok(again !== undefined, 'nothing looks at it again');
    } catch (error) {
      if (!(error instanceof Died) && !(error instanceof KubeError)) throw error;
      this.#story.push(`  ended by: ${error.message}`);
    }
  }

  #work(effect: <T>(name: string, act: () => T) => Promise<T>): OperationEffects {
    return {
      now: () => new Date(this.#now),
      random: () => 0,
      judge: async () => {
        if (this.#isPaused) return { kind: 'barred', reason: Reason.Paused, message: 'paused' };
        return this.#mayRun ? { kind: 'may run', plan: PLAN } : BARRED;
      },
      write: (operation, { conditions, ...rest }) =>
        effect(`write ${rest.phase}`, () => {
          if (operation.metadata.resourceVersion !== this.#stored.metadata.resourceVersion) {
            throw new KubeError('the object has been modified', { status: 409, reason: 'Conflict' });
          }
          const before = this.#stored.status;
          const status = { ...rest, conditions: [...conditions] };
          if (JSON.stringify(before) !== JSON.stringify(status)) this.#store({ ...operation, status });
          return this.#stored;
        }),
      isAsSeen: (operation) =>
        effect('read', () => operation.metadata.resourceVersion === this.#stored.metadata.resourceVersion),
      start: (_, { attempt }) =>
        effect(`start ${attempt}`, () => {
          if (this.#startIsRefused) {
            return { state: 'failed', reason: Reason.JobFailed, message: 'refused', isFinal: false };
          }
          ok(!this.#wasCancelledFirst, 'it was started after it was cancelled');
          ok(!this.#isPaused && this.#mayRun, 'it was started although it must not');
          if (this.#made.has(attempt)) return undefined;
          this.#effects.set(attempt, (this.#effects.get(attempt) ?? 0) + 1);
          this.#made.set(attempt, { state: 'running', message: 'at work' });
          return undefined;
        }),
      observe: (_, { attempt }) =>
        effect(`observe ${attempt}`, () => {
          if (this.#observeFails) throw new KubeError('no answer', { status: 0, reason: 'NoAnswer' });
          return this.#made.get(attempt) ?? { state: 'absent' };
        }),
      stop: (_, { attempt }) =>
        effect(`stop ${attempt}`, () => {
          ok(!this.#isPaused, 'it was stopped under a pause');
          this.#wasStopped = true;
          if (this.#stopFails) throw new KubeError('no answer', { status: 0, reason: 'NoAnswer' });
          if (this.#made.get(attempt)?.state !== 'running') return;
          this.#made.set(attempt, { state: 'failed', reason: Reason.OperationLost, message: 'gone', isFinal: true });
        }),
      isStoppable: () => this.#isStoppable,
      isCancellable: () => true,
      hadBegun: () => undefined,
      isOurs: () => true,
      withdraw: () =>
        effect('withdraw', () => {
          this.#isWithdrawn = true;
        }),
      keepOutput: async () => 'none is made',
      remove: async () => undefined,
      isFault: (error) => error instanceof KubeError,
    };
  }

  #store(next: Operation): void {
    const version = String(Number(this.#stored.metadata.resourceVersion) + 1);
    this.#stored = { ...next, metadata: { ...next.metadata, resourceVersion: version } };
  }

  #check(): void {
    const { status } = this.#stored;
    if (status === undefined) return;
    const { attempts = 0, phase } = status;
    const trueOnes = (status.conditions ?? [])
      .filter((condition) => condition.status === 'True')
      .map(({ type }) => type);
    const counting = trueOnes.filter((type) => type !== 'Accepted');
    deepEqual(counting, [phase], 'one condition counts, and the phase is it');
    deepEqual(
      status.conditions?.map(({ type }) => type).toSorted(),
      ['Accepted', 'Blocked', 'Cancelled', 'Failed', 'Running', 'Succeeded'],
      'all six stand there',
    );
    ok(attempts <= RETRIES + 1, 'it was tried too often');
    for (const [attempt, times] of this.#effects) ok(times === 1, `try ${attempt} had its effect ${times} times`);
    if (this.#wasCancelledFirst) deepEqual(this.#effects.size, 0, 'it ran although it was cancelled first');
    const isOver = ENDS.some((end) => end === phase);
    if (isOver) ok(this.#isWithdrawn, 'it ended, and its approval is still good for something');
    if (this.#end !== undefined) deepEqual(JSON.stringify(ending(this.#stored)), this.#end, 'an end never changes');
    else if (isOver) this.#end = JSON.stringify(ending(this.#stored));
    if (this.#wasStopped && isOver) {
      const { reason = '' } = status.conditions?.find(({ type }) => type === phase) ?? {};
      const isOwn = reason === Reason.OperationCancelled || reason === Reason.DeadlineExceeded;
      ok(isOwn, `it was stopped, and ends as ${phase} ${reason}`);
    }
    const working = [...this.#made.values()].filter(({ state }) => state === 'running').length;
    ok(working <= 1, 'two tries run at once');
  }
}

function ending({ status }: Operation): unknown {
  return { ...status, conditions: status?.conditions?.map((condition) => ({ ...condition, observedGeneration: 0 })) };
}
