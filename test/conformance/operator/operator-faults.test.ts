import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Mismatch } from '../check.ts';
import { OPERATOR_CHECKS } from './operator-checks.ts';
import { NOT_SPOILED, OPERATOR_FAULTS } from './operator-faults.ts';
import { OperatorStage } from './operator-stage.ts';
import { applyJob } from './scripted-jobs.ts';

let stage: OperatorStage;
let real: OperatorStage['plane']['seen'];

beforeAll(async () => {
  stage = await OperatorStage.start();
  stage.plane.offer(applyJob('warm-up', 'warm-up', 1));
  await stage.result('warm-up');
  real = [...stage.plane.seen];
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

const CASES = OPERATOR_FAULTS.flatMap(({ title, breaks, spoil }) => breaks.map((id) => ({ title, id, spoil })));

describe('the checks of an operator', () => {
  it.each(CASES)('see one that $title: $id', { timeout: 60_000 }, async ({ id, spoil }) => {
    const check = OPERATOR_CHECKS.find((one) => one.id === id);
    if (check === undefined) throw new Error(`there is no check ${id}`);
    // What came before is remembered as the faulty operator would have sent it.
    stage.plane.seen.splice(0, stage.plane.seen.length, ...real.flatMap((seen) => spoil(seen)));
    stage.plane.spoil = spoil;
    try {
      await expect(check.run(stage)).rejects.toBeInstanceOf(Mismatch);
    } finally {
      stage.plane.spoil = (seen) => [seen];
    }
  });

  it('can each fail', () => {
    const broken = new Set([...OPERATOR_FAULTS.flatMap(({ breaks }) => breaks), ...NOT_SPOILED]);
    expect(OPERATOR_CHECKS.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual([]);
    expect([...broken].filter((id) => !OPERATOR_CHECKS.some((check) => check.id === id))).toEqual([]);
  });
});
