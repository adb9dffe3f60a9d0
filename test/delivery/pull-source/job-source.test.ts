import { describe, expect, it } from 'vitest';
import type { DesiredSet } from '../../../src/delivery/delivery.ts';
import { JobSource } from '../../../src/delivery/pull/job-source.ts';
import type { JobVerdict } from '../../../src/delivery/pull/judge-outcome.ts';
import { readJob } from '../../../src/delivery/pull/read-job.ts';
import type { Job } from '../../../src/protocol/job.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { aPolicy, anInstance } from '../../reconcile/manifests.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const WAITS = { state: 'failed', reason: 'ApplyFailed', message: 'not now' } as const;

class SourceRun {
  readonly clock = new ManualClock();
  readonly verdicts: string[] = [];
  readonly source: JobSource;
  isReady = Promise.resolve();
  brought: string | undefined;
  renewed = 0;
  deliveryEpoch = 1;
  readonly #stop = new AbortController();
  readonly #sets: AsyncIterator<DesiredSet>;

  constructor() {
    this.source = new JobSource({
      ready: async () => await this.isReady,
      renew: () => void (this.renewed += 1),
      read: async (job) =>
        await readJob(job, { ...aPolicy({ mode: 'pull', deliveryEpoch: this.deliveryEpoch }), keyRing: [] }),
      broughtBy: () => this.brought,
      onRead: () => undefined,
      onRefused: (id, { message }) => void this.verdicts.push(`${id} refused: ${message}`),
      onVerdict: (id, verdict) => void this.verdicts.push(`${id} ${wordsOf(verdict)}`),
      clock: this.clock,
      random: () => 0,
      logger: createLogger('test', 'silent'),
    });
    this.#sets = this.source.desired(this.#stop.signal)[Symbol.asyncIterator]();
  }

  /** Keys of the next set, in its order. */
  async next(): Promise<readonly string[]> {
    const { value } = (await this.#sets.next()) as { value: DesiredSet };
    return [...value.removals, ...value.objects].map(({ key }) => key);
  }

  offer(id: string, generation: number, change: Partial<Job> = {}, isNew = true): void {
    const payload = anInstance({
      source: `${change.deliveryEpoch ?? 1}.${generation}`,
      name: change.idempotencyKey ?? 'podinfo',
    });
    const job: Job = {
      id,
      kind: 'apply',
      payload,
      createdAt: '2026-03-01T10:00:00.000Z',
      expiresAt: '2026-03-02T10:00:00.000Z',
      ...change,
      idempotencyKey: `applicationinstance/shop/podinfo@${generation}`,
    };
    this.source.offer({ job, isNew, wasApplied: false });
  }
}

function wordsOf(verdict: JobVerdict): string {
  if (verdict.state !== 'ended') return verdict.state;
  const { outcome, error = '' } = verdict.result;
  return `${outcome} ${error}`.trim();
}

describe('the jobs that are to be applied', () => {
  it('come one an object at a time, the older generation first', async () => {
    const run = new SourceRun();
    run.offer('j2', 2);
    run.offer('j1', 1);
    run.offer('other', 5, { idempotencyKey: 'second' });
    expect((await run.next()).toSorted()).toEqual(['j1', 'other']);
    await run.source.settle('j1', { state: 'applied' });
    await run.source.settle('other', { state: 'applied' });
    expect(await run.next()).toEqual(['j2']);
    expect(run.verdicts).toEqual(['j1 applied', 'other applied']);
  });

  it('do not wait for an older one that cannot be applied', async () => {
    const run = new SourceRun();
    run.offer('j1', 1);
    run.offer('j2', 2);
    expect(await run.next()).toEqual(['j1']);
    await run.source.settle('j1', WAITS);
    expect(await run.next()).toEqual(['j2']);
  });

  it('are tried again with growing waits, at once when something changed, and end when their time is over', async () => {
    const run = new SourceRun();
    run.offer('j1', 1);
    await run.next();
    await run.source.settle('j1', WAITS);
    const second = run.next();
    await expect.poll(() => run.clock.sleeping).toBe(1);
    run.source.lookAgain();
    expect(await second).toEqual(['j1']);
    await run.source.settle('j1', WAITS);
    const third = run.next();
    await expect.poll(() => run.clock.sleeping).toBe(1);
    run.clock.advance(1000);
    expect(await third).toEqual(['j1']);
    await run.source.settle('j1', WAITS);
    void run.next();
    await expect.poll(() => run.clock.sleeping).toBe(1);
    run.clock.advance(86_400_000);
    await expect.poll(() => run.verdicts.at(-1)).toBe('j1 noop expired');
  });

  it('of an epoch that the configuration does not know have it read anew, once, and are refused after that', async () => {
    const run = new SourceRun();
    run.offer('j1', 1, { deliveryEpoch: 2 });
    run.offer('j2', 1, { deliveryEpoch: 9, idempotencyKey: 'second' });
    const next = run.next();
    await expect.poll(() => [run.renewed, run.clock.sleeping]).toEqual([2, 1]);
    expect(run.verdicts).toEqual([]);
    run.deliveryEpoch = 2;
    run.clock.advance(1000);
    expect(await next).toEqual(['j1']);
    expect(run.renewed).toBe(2);
    expect(run.verdicts).toEqual([
      "j2 refused: the job is of delivery epoch 9; the control plane's configuration says 2",
    ]);
  });

  it('wait until what is allowed is known', async () => {
    const run = new SourceRun();
    const { promise, resolve } = Promise.withResolvers<void>();
    run.isReady = promise;
    run.offer('j1', 1);
    let came = false;
    const next = run.next().then((keys) => {
      came = true;
      return keys;
    });
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
    expect(came).toBe(false);
    resolve();
    expect(await next).toEqual(['j1']);
  });

  it('that changed nothing are noops where another delivery was first, and their own where they were', async () => {
    const run = new SourceRun();
    run.offer('new', 1);
    await run.next();
    await run.source.settle('new', { state: 'unchanged' });
    run.brought = 'mine';
    run.offer('mine', 1, {}, false);
    await run.next();
    await run.source.settle('mine', { state: 'unchanged' });
    run.offer('copy', 1, {}, false);
    await run.next();
    await run.source.settle('copy', { state: 'unchanged' });
    const noop = 'noop already applied at this generation';
    expect(run.verdicts).toEqual([`new ${noop}`, 'mine applied', `copy ${noop}`]);
  });

  it('that cannot be read are told, and do not come', async () => {
    const run = new SourceRun();
    run.offer('bad', 1, { payload: { kind: 'x' } });
    run.offer('good', 2);
    expect(await run.next()).toEqual(['good']);
    expect(run.verdicts).toEqual([expect.stringMatching(/^bad refused: payload: /)]);
  });
});
