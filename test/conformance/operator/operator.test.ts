import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATOR_CHECKS } from './operator-checks.ts';
import { OperatorStage } from './operator-stage.ts';

const SHARED = OPERATOR_CHECKS.filter(({ own }) => own === undefined);
const OWN = OPERATOR_CHECKS.filter(({ own }) => own !== undefined);

let stage: OperatorStage;

beforeAll(async () => {
  stage = await OperatorStage.start();
  await stage.until('a first poll', () => stage.plane.requests(/^GET \/api\/agent\/jobs\?/).length > 0);
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

describe('the operator, as a control plane sees it', () => {
  it.each(SHARED)('$section: $sentence', { timeout: 300_000 }, async ({ run }) => {
    await expect(run(stage)).resolves.toBeUndefined();
  });

  it.each(OWN)('$section: $sentence', { timeout: 300_000 }, async ({ run, own }) => {
    await using fresh = await OperatorStage.start(own);
    await expect(run(fresh)).resolves.toBeUndefined();
  });

  it('has checks with ids of their own', () => {
    expect(new Set(OPERATOR_CHECKS.map(({ id }) => id)).size).toBe(OPERATOR_CHECKS.length);
  });
});
