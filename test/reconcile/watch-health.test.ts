import { describe, expect, it } from 'vitest';
import { KubeError } from '../../src/kube/cluster-api.ts';
import { KIND_NOT_FOUND } from '../../src/kube/kube-fault.ts';
import { TOLERATED_MS, WatchHealth, type Ailment } from '../../src/reconcile/watch-health.ts';
import { ManualClock } from '../support/manual-clock.ts';

const forbidden = new KubeError('cannot list resource "x"', { status: 403, reason: 'Forbidden' });

class Health {
  readonly clock = new ManualClock();
  readonly told: (Ailment | undefined)[] = [];
  readonly health = new WatchHealth({ clock: this.clock, onChange: (ailment) => void this.told.push(ailment) });

  async after(ms: number): Promise<void> {
    this.clock.advance(ms);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  }
}

describe('the health of watches', () => {
  it('is told of when a fault has lasted 30 s, with its reason, and again when it is over', async () => {
    const run = new Health();
    const { health, told } = run;
    health.note('Operation cannot be watched', forbidden);
    await run.after(TOLERATED_MS - 1);
    expect(told).toEqual([]);
    await run.after(1);
    expect(told).toEqual([
      {
        reason: 'OperatorForbidden',
        message:
          'Operation cannot be watched: cannot list resource "x"; apply what \'servicectl operator manifest\' prints',
      },
    ]);
    health.note('Operation cannot be watched', undefined);
    expect(told.at(-1)).toBeUndefined();
    expect(told).toHaveLength(2);
  });

  it('says nothing of a fault that passes, however often it comes', async () => {
    const run = new Health();
    for (let turn = 0; turn < 5; turn += 1) {
      run.health.note('Namespace cannot be watched', forbidden);
      await run.after(TOLERATED_MS - 1);
      run.health.note('Namespace cannot be watched', undefined);
    }
    await run.after(TOLERATED_MS);
    expect(run.told).toEqual([]);
  });

  it.each([
    [new KubeError('x', { status: 404, reason: KIND_NOT_FOUND }), 'DefinitionMissing'],
    [new KubeError('x', { status: 401, reason: 'Unauthorized' }), 'OperatorForbidden'],
    [new KubeError('x', { status: 0, reason: 'ConnectionFailed' }), 'ControllerFailed'],
    [new Error('x'), 'ControllerFailed'],
  ])('names the cause: %o is %s', async (fault, reason) => {
    const run = new Health();
    run.health.note('Operation cannot be watched', fault);
    await run.after(TOLERATED_MS);
    expect(run.told.map((ailment) => ailment?.reason)).toEqual([reason]);
  });

  it('names every fault that lasts, and stays ill until the last is over', async () => {
    const run = new Health();
    run.health.note('A cannot be watched', forbidden);
    run.health.note('B cannot be watched', forbidden);
    await run.after(TOLERATED_MS);
    expect(run.told.at(-1)?.message).toMatch(/^A cannot be watched: .*; B cannot be watched: /);
    run.health.note('A cannot be watched', undefined);
    expect(run.told.at(-1)?.message).toMatch(/^B cannot be watched: /);
    run.health.note('B cannot be watched', undefined);
    expect(run.told.at(-1)).toBeUndefined();
  });

  it('is quiet once it is disposed of', async () => {
    const run = new Health();
    run.health.note('A cannot be watched', forbidden);
    run.health[Symbol.dispose]();
    await run.after(TOLERATED_MS);
    expect(run.told).toEqual([]);
  });
});
