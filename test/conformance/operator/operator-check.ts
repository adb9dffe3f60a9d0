import { Mismatch } from '../check.ts';
import type { OperatorStage } from './operator-stage.ts';
import type { ScriptedControlPlane, Seen } from './scripted-control-plane.ts';

/** One rule that an operator has to keep, seen from the wire. */
export interface OperatorCheck {
  readonly id: string;
  readonly section: string;
  /** As a `Check`'s. */
  readonly heading: string;
  readonly sentence: string;
  /** For a rule that ends the operator's work: it gets an operator of its own, and a control plane prepared for it. */
  readonly own?: (plane: ScriptedControlPlane) => void;
  /** @throws Mismatch */
  readonly run: (stage: OperatorStage) => Promise<void>;
}

/** Values are alike as JSON. */
export function mustEqual(actual: unknown, expected: unknown, what: string): void {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== should) throw new Mismatch(`${what}: ${should}, not ${is}`);
}

/** Milliseconds between requests and their next ones. */
export function gaps(requests: readonly Seen[]): number[] {
  return requests.slice(1).map(({ atMs }, index) => atMs - (requests[index]?.atMs ?? 0));
}

/** A fault that answers the first `times` requests that fit, and then none. */
export function firstTimes(
  times: number,
  pattern: RegExp,
  answer: Awaited<ReturnType<ScriptedControlPlane['script']>>,
): { readonly script: ScriptedControlPlane['script']; readonly met: Seen[] } {
  const met: Seen[] = [];
  return {
    met,
    script: (seen) => {
      if (met.length >= times || !pattern.test(`${seen.method} ${seen.path}`)) return undefined;
      met.push(seen);
      return answer;
    },
  };
}

/** Runs with a fault and takes it away again. */
export async function under(
  stage: OperatorStage,
  script: ScriptedControlPlane['script'],
  run: () => Promise<void>,
): Promise<void> {
  stage.plane.script = script;
  try {
    await run();
  } finally {
    stage.plane.script = () => undefined;
  }
}
