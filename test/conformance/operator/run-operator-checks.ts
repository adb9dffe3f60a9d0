import { Mismatch } from '../check.ts';
import type { Finding } from '../run-checks.ts';
import type { OperatorCheck } from './operator-check.ts';
import { OperatorStage } from './operator-stage.ts';

/** Runs checks one after another: most on one operator, those that end its work on one of their own each. */
export async function runOperatorChecks(
  checks: readonly OperatorCheck[],
  tell: (finding: Finding) => void = () => undefined,
): Promise<Finding[]> {
  await using shared = await OperatorStage.start();
  await shared.nextPoll();
  const findings: Finding[] = [];
  for (const check of checks) {
    const finding = await look(check, shared);
    findings.push(finding);
    tell(finding);
  }
  return findings;
}

async function look(check: OperatorCheck, shared: OperatorStage): Promise<Finding> {
  const { id, section, heading, sentence, own, run } = check;
  const start = performance.now();
  const finding = (rest: Pick<Finding, 'verdict' | 'expected'>): Finding => {
    return { id, section, heading, sentence, ...rest, ms: Math.round(performance.now() - start) };
  };
  try {
    if (own === undefined) {
      await run(shared);
    } else {
      await using stage = await OperatorStage.start(own);
      await run(stage);
    }
    return finding({ verdict: 'pass' });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return finding({
      verdict: 'fail',
      expected: error instanceof Mismatch ? message : `that it can be seen: ${message}`,
    });
  }
}
