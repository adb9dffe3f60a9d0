import { builtInParameters, resolveTemplate } from '../../operation-templates/resolve-template.ts';
import { checkOperation } from '../../policy/check-operation.ts';
import { refusalText, type PolicySituation, type PolicyViolation } from '../../policy/policy-violation.ts';
import type { Operation } from '../../resources/operation.ts';
import { Reason } from '../../resources/reasons.ts';
import { sourceIsStale, type SourceMemory } from '../stale-source.ts';
import { claimApprovals, knownUses, takeApproval, type ApprovalMemory } from '../take-approval.ts';
import { writesArePaused } from '../write-checks.ts';
import type { Verdict } from './decide-operation.ts';
import { hasRunBefore } from './has-run-before.ts';
import { asPlanned, type RunPlan, type Standing } from './operation-standing.ts';
import type { OperationRun, TemplateRunner } from './template-runner.ts';

export interface StartSituation extends PolicySituation {
  readonly memory: SourceMemory;
  readonly runnerOf: (template: RunPlan['template']) => TemplateRunner | undefined;
  /** The run as its runner sees it, by a plan that has not begun. */
  readonly runOf: (plan: RunPlan) => OperationRun;
  /** Where it is written down that an approval is used; absent: nobody remembers. */
  readonly approvals?: ApprovalMemory;
}

/**
 * What a further try is not held against: its plan and its approval are those of the first, whatever became of the template
 * and of the approval's time since.
 */
const FOR_THE_FIRST_TRY: readonly Reason[] = [
  Reason.ApprovalMissing,
  Reason.ApprovalInvalid,
  Reason.ApprovalUsed,
  Reason.TemplateChanged,
  Reason.TemplateNotSupported,
  Reason.ParametersInvalid,
];

/**
 * Whether a try of the operation may begin now, by all that holds at this moment. A further try runs by the plan of the
 * first, so its template is not looked up again.
 *
 * @throws KubeError where the use of its approval cannot be written down
 */
export async function judgeStart(
  operation: Operation,
  standing: Standing,
  situation: StartSituation,
  signal: AbortSignal,
): Promise<Verdict> {
  const { memory, namespace, elsewhere = [], policy, runnerOf, approvals } = situation;
  const isFirst = standing.kind !== 'running';
  if (isFirst) await claimApprovals(approvals, operation, situation, signal);
  const pause = writesArePaused(policy, namespace, ...elsewhere, operation);
  if (pause !== undefined) return barred(Reason.Paused, pause.message);
  const stale = isFirst
    ? (hasRunBefore(operation, memory) ?? sourceIsStale(operation, memory, policy)?.message)
    : undefined;
  if (stale !== undefined) return barred(Reason.StaleSource, stale);
  const runs = asPlanned(operation, standing);
  const found = await checkOperation(operation, { ...situation, ...knownUses(approvals), runs });
  const violations = isFirst ? found : found.filter(({ reason }) => !FOR_THE_FIRST_TRY.includes(reason));
  if (violations.length > 0) return refused(violations);
  const plan = standing.kind === 'running' ? standing.plan : planOf(operation, situation);
  if (plan === undefined) {
    return barred(Reason.TemplateNotSupported, `there is no operation template ${operation.spec.template} here`);
  }
  const runner = runnerOf(plan.template);
  if (runner === undefined) {
    return barred(Reason.TemplateNotSupported, `this operator version does not run template ${plan.template}`);
  }
  const own = runner.violations?.(situation.runOf(plan)) ?? [];
  if (own.length > 0) return refused(own);
  // Last of all: what is used here is used up.
  const unapproved = isFirst ? (await takeApproval(approvals, operation, situation, signal)).violations : [];
  return unapproved.length > 0 ? refused(unapproved) : { kind: 'may run', plan };
}

/** Undefined where the operator knows no template of that name. */
function planOf({ spec }: Operation, { policy }: PolicySituation): RunPlan | undefined {
  const resolved = resolveTemplate(spec.template, policy.templateDefinitions ?? []);
  if (resolved === undefined) return undefined;
  return {
    template: resolved.runs,
    parameters: builtInParameters(resolved, spec.parameters ?? {}),
    deadlineSeconds: spec.deadlineSeconds ?? resolved.deadlineSeconds,
    retries: resolved.retries,
  };
}

function refused(violations: readonly PolicyViolation[]): Verdict {
  return barred(violations[0]?.reason ?? Reason.SpecInvalid, refusalText(violations));
}

function barred(reason: Reason, message: string): Verdict {
  return { kind: 'barred', reason, message };
}
