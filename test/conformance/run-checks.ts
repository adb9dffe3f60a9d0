import { Mismatch, NotCheckable, type Check } from './check.ts';
import { describeExchange } from './describe-exchange.ts';
import { Stage, type Target } from './stage.ts';

export interface Finding {
  readonly id: string;
  readonly section: string;
  readonly sentence: string;
  readonly verdict: 'pass' | 'fail' | 'skip';
  /** Of a skip: why. */
  readonly why?: string;
  /** Of a failure. */
  readonly expected?: string;
  readonly sent?: string;
  readonly received?: string;
  readonly ms: number;
}

export interface Report {
  readonly findings: readonly Finding[];
  /** Clusters of the suite's own that could not be deleted. */
  readonly left: readonly string[];
}

/** Runs checks one after another, in their order, and deletes what was made for them; rejects where the URL does not answer. */
export async function runChecks(
  target: Target,
  checks: readonly Check[],
  tell: (finding: Finding) => void = () => undefined,
): Promise<Report> {
  await using stage = new Stage(target);
  // Nothing can be checked where nobody listens: that is no verdict on a control plane.
  await stage.http.send({ method: 'GET', path: '/api/agent/config' });
  const findings: Finding[] = [];
  for (const check of checks) {
    const finding = await look(check, stage);
    findings.push(finding);
    tell(finding);
  }
  return { findings, left: await stage.cleanUp() };
}

async function look(check: Check, stage: Stage): Promise<Finding> {
  const { id, section, sentence } = check;
  const start = performance.now();
  const finding = (rest: Pick<Finding, 'verdict' | 'why' | 'expected' | 'sent' | 'received'>): Finding => ({
    id,
    section,
    sentence,
    ...rest,
    ms: Math.round(performance.now() - start),
  });
  if (check.needs === 'admin' && stage.target.adminToken === undefined) {
    return finding({ verdict: 'skip', why: 'needs clusters or intents of its own: give --admin-token' });
  }
  try {
    await check.run(stage);
    return finding({ verdict: 'pass' });
  } catch (error) {
    if (error instanceof NotCheckable) return finding({ verdict: 'skip', why: error.message });
    if (error instanceof Mismatch) {
      const exchange = error.answer === undefined ? {} : describeExchange(error.answer);
      return finding({ verdict: 'fail', expected: error.message, ...exchange });
    }
    const message = error instanceof Error ? error.message : String(error);
    return finding({ verdict: 'fail', expected: `that the check can be made: ${message}` });
  }
}
