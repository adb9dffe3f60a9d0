import { describe, expect, it } from 'vitest';
import type { DesiredSet, Outcome, Source } from '../../src/delivery/delivery.ts';
import { SyncLoop } from '../../src/operator/sync-loop.ts';
import type { ApplyReport } from '../../src/reconcile/apply-report.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { Wake } from '../../src/runtime/wake.ts';
import { anInstance, file, live } from '../reconcile/manifests.ts';
import { ManualClock } from '../support/manual-clock.ts';

function aSet(revision: string): DesiredSet {
  return { revision, scope: 'complete', objects: [], removals: [], faults: [] };
}

/** A source that gives what the test puts in, and an apply loop whose reports the test decides. */
class SyncRun implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly applied: string[] = [];
  readonly sets: DesiredSet[] = [];
  readonly read: string[] = [];
  readonly reported: string[] = [];
  readonly settled: string[] = [];
  retryable = false;
  failSource = false;
  failApply = false;
  readonly loop: SyncLoop;
  readonly #sets: DesiredSet[] = [];
  readonly #wake = new Wake();
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor() {
    const source: Source = {
      desired: (signal) => this.#desired(signal),
      settle: async (key, outcome: Outcome) => void this.settled.push(`${key} ${outcome.state}`),
      [Symbol.asyncDispose]: async () => undefined,
    };
    this.loop = new SyncLoop({
      source,
      applyLoop: { apply: async (set) => this.#apply(set) },
      clock: this.clock,
      random: () => 0,
      logger: createLogger('test', 'silent'),
      onRead: ({ revision = '' }) => void this.read.push(revision),
      onReport: ({ revision = '' }) => void this.reported.push(revision),
    });
    this.#ended = this.loop.run(this.#stop.signal);
  }

  give(set: DesiredSet): void {
    this.#sets.push(set);
    this.#wake.ring();
  }

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

  #apply(set: DesiredSet): ApplyReport {
    const { revision = '' } = set;
    this.applied.push(revision);
    this.sets.push(set);
    if (this.failApply) throw new Error('a fault of ours');
    return {
      revision,
      complete: set.scope === 'complete',
      outcomes: new Map([['apps/shop/podinfo.yaml', { state: 'applied' } as const]]),
      removals: new Set(),
      pruned: new Set(),
      removedWithoutTombstone: [],
      faults: [],
      retryable: this.retryable,
    };
  }

  async *#desired(signal: AbortSignal): AsyncIterable<DesiredSet> {
    for (;;) {
      if (this.failSource) throw new Error('the source broke');
      const set = this.#sets.shift();
      if (set === undefined) await this.#wake.wait(signal);
      else yield set;
    }
  }
}

describe('the sync loop', () => {
  it('applies each set once, reports it and tells the source', async () => {
    await using run = new SyncRun();
    run.give(aSet('r1'));
    await run.after(599_999);
    expect({ applied: run.applied, reported: run.reported, settled: run.settled }).toEqual({
      applied: ['r1'],
      reported: ['r1'],
      settled: ['apps/shop/podinfo.yaml applied'],
    });
  });

  it('applies a set again, ever more slowly, while some of it may go through later', async () => {
    await using run = new SyncRun();
    run.retryable = true;
    run.give(aSet('r1'));
    await run.after(999);
    expect(run.applied).toEqual(['r1']);
    await run.after(1);
    run.retryable = false;
    await run.after(1000);
    await run.after(599_999);
    expect(run.applied).toEqual(['r1', 'r1', 'r1']);
  });

  it('leaves a set that waits for a newer one', async () => {
    await using run = new SyncRun();
    run.retryable = true;
    run.give(aSet('r1'));
    await run.rest();
    run.retryable = false;
    run.give(aSet('r2'));
    await run.after(599_999);
    expect(run.applied).toEqual(['r1', 'r2']);
  });

  it('applies the present set again when what is allowed changes', async () => {
    await using run = new SyncRun();
    run.give(aSet('r1'));
    await run.rest();
    run.loop.lookAgain();
    await run.rest();
    expect(run.applied).toEqual(['r1', 'r1']);
  });

  it('compares the set with the cluster every ten minutes although nothing called for it', async () => {
    await using run = new SyncRun();
    run.give(aSet('r1'));
    await run.after(599_999);
    expect(run.applied).toEqual(['r1']);
    await run.after(1);
    await run.after(600_000);
    expect(run.applied).toEqual(['r1', 'r1', 'r1']);
  });

  it('applies the set at once when an object of it was edited or deleted by hand, and for nobody else', async () => {
    await using run = new SyncRun();
    const item = file({ source: '1.1' });
    run.give({ ...aSet('r1'), objects: [item] });
    await run.rest();
    run.loop.noteChange(live(item.object), false);
    run.loop.noteChange(live(anInstance({ name: 'other' })), true);
    run.loop.noteChange(live(anInstance({ source: '1.2', version: '6.6.1' })), false);
    await run.rest();
    expect(run.applied).toEqual(['r1']);
    const edited = live(anInstance({ version: '6.6.1' }), { generation: 2 });
    run.loop.noteChange(edited, false);
    await run.rest();
    expect(run.applied).toEqual(['r1', 'r1']);
    run.loop.noteChange({ ...edited, status: {} }, false);
    await run.rest();
    expect(run.applied).toEqual(['r1', 'r1']);
    run.loop.noteChange(live(item.object), true);
    await run.rest();
    expect(run.applied).toEqual(['r1', 'r1', 'r1']);
  });

  it('goes on with what was wanted before, and with the fault, while the source cannot be read', async () => {
    await using run = new SyncRun();
    const item = file();
    run.give({ ...aSet('r1'), objects: [item] });
    await run.rest();
    const fault = { key: 'clusters/eu', reason: 'SourceUnreachable', message: 'gone' };
    run.give({ ...aSet('r1'), scope: 'partial', faults: [fault] });
    await run.rest();
    run.loop.noteChange(live(item.object), true);
    await run.rest();
    const { objects, scope, faults } = run.sets.at(-1) ?? aSet('');
    expect({ objects, scope, faults, times: run.applied.length }).toEqual({
      objects: [item],
      scope: 'partial',
      faults: [fault],
      times: 3,
    });
  });

  it('goes on at once when the pause of an object ends', async () => {
    await using run = new SyncRun();
    const item = file();
    run.give({ ...aSet('r1'), objects: [item] });
    await run.rest();
    run.loop.noteChange(live(item.object, { annotations: { 'ops.service.io/paused': 'true' } }), false);
    await run.rest();
    expect(run.applied).toEqual(['r1']);
    run.loop.noteChange(live(item.object), false);
    await run.rest();
    expect(run.applied).toEqual(['r1', 'r1']);
  });

  it('applies nothing more of a source that is not the cluster’s any more', async () => {
    await using run = new SyncRun();
    run.give(aSet('r1'));
    await run.rest();
    run.loop.forget();
    run.loop.lookAgain();
    await run.rest();
    expect(run.applied).toEqual(['r1']);
  });

  it('goes on after a source that broke and an apply that failed', async () => {
    await using run = new SyncRun();
    run.failSource = true;
    run.give(aSet('r1'));
    await run.rest();
    run.failSource = false;
    run.failApply = true;
    await run.after(60_000);
    run.failApply = false;
    await run.after(60_000);
    expect({ applied: run.applied, reported: run.reported }).toEqual({ applied: ['r1', 'r1'], reported: ['r1'] });
  });
});
