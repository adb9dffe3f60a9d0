import { isObject, Mismatch, NotCheckable, type Check } from './check.ts';
import { describeExchange } from './describe-exchange.ts';
import type { Answer } from './http-client.ts';
import { Stage, type Target } from './stage.ts';

export interface Finding {
  readonly id: string;
  readonly section: string;
  readonly heading: string;
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

/** What the run was given is of no use: that is no verdict on a control plane. */
export class UnusableTarget extends Error {
  override readonly name = 'UnusableTarget';
}

/** Refusals of a registration that say something of its token and nothing of the control plane. */
const TOKEN_REFUSALS: Readonly<Record<string, string>> = {
  invalid_token: 'it was never issued, or another one was issued after it',
  registration_token_used: 'it was used before',
  registration_token_expired: 'it has expired',
  cluster_disabled: 'its cluster is disabled',
  cluster_mismatch: 'its cluster is bound to another Kubernetes cluster',
};

/**
 * Runs checks one after another, in their order, and deletes what was made for them.
 *
 * @throws UnusableTarget when a token is not taken; any other error where the URL does not answer
 */
export async function runChecks(
  target: Target,
  checks: readonly Check[],
  tell: (finding: Finding) => void = () => undefined,
): Promise<Report> {
  await using stage = new Stage(target);
  // Nothing can be checked where nobody listens, or without a cluster.
  await stage.http.send({ method: 'GET', path: '/api/agent/config' });
  await refuseUnusableAdmin(stage);
  // Last: it uses the token up.
  refuseUnusable(await stage.registration());
  const findings: Finding[] = [];
  for (const check of checks) {
    const finding = await look(check, stage);
    findings.push(finding);
    tell(finding);
  }
  return { findings, left: await stage.cleanUp() };
}

function refuseUnusable({ status, json }: Answer): void {
  const code = isObject(json) ? json['error'] : undefined;
  if ((status !== 401 && status !== 403) || typeof code !== 'string' || !Object.hasOwn(TOKEN_REFUSALS, code)) return;
  throw new UnusableTarget(
    `the registration token is not taken (${status} ${code}): ${TOKEN_REFUSALS[code]}; give a fresh one, of a cluster that nobody uses`,
  );
}

async function refuseUnusableAdmin({ http, target }: Stage): Promise<void> {
  if (target.adminToken === undefined) return;
  const headers = { authorization: `Bearer ${target.adminToken}` };
  const { status } = await http.send({ method: 'GET', path: '/api/v1/clusters?limit=1', headers });
  if (status !== 401 && status !== 403) return;
  throw new UnusableTarget(`the admin token is not taken (${status}): give one of this control plane, or none`);
}

async function look(check: Check, stage: Stage): Promise<Finding> {
  const { id, section, heading, sentence } = check;
  const start = performance.now();
  const finding = (rest: Pick<Finding, 'verdict' | 'why' | 'expected' | 'sent' | 'received'>): Finding => ({
    id,
    section,
    heading,
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
