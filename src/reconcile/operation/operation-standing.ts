import type { BuiltInTemplateName } from '../../operation-templates/built-in-templates.ts';
import { isBuiltInTemplate } from '../../operation-templates/built-in-templates.ts';
import { isTrue } from '../../resources/conditions.ts';
import type { Operation } from '../../resources/operation.ts';

/** What runs, as its template stood at the start; kept in the status. */
export interface RunPlan {
  readonly template: BuiltInTemplateName;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly deadlineSeconds: number;
  readonly retries: number;
}

export const ENDS = ['Succeeded', 'Failed', 'Cancelled'] as const;
export type End = (typeof ENDS)[number];

/** Where an operation stands by what was written down of it, which is all that outlives the operator. */
export type Standing =
  | { readonly kind: 'waiting' }
  | {
      readonly kind: 'running';
      readonly plan: RunPlan;
      readonly attempt: number;
      /** The try is known to have begun; if not, it may have: the operator may have ended in between. */
      readonly isBegun: boolean;
      readonly startedAt: Date;
      /** The try failed, and the next is due then. */
      readonly nextTryAt?: Date;
      /** It is being stopped, and so it ends: what is seen of it from then on is the operator's own work. */
      readonly stopping?: 'Cancelled' | 'Failed';
      /** What is said of it by now, and how it stood when it was last looked at. */
      readonly said: string;
      readonly progress: string;
    }
  | { readonly kind: 'ended'; readonly end: End; readonly finishedAt: Date | undefined };

export function standingOf({ status }: Pick<Operation, 'status'>): Standing {
  const end = ENDS.find((type) => isTrue(status?.conditions, type));
  if (end !== undefined) {
    return { kind: 'ended', end, finishedAt: dateOf(status?.finishedAt) };
  }
  const { attempts = 0, begun = 0, run, nextTryAt, stopping, progress = '' } = status ?? {};
  const startedAt = dateOf(status?.startedAt);
  if (attempts === 0 || startedAt === undefined || run === undefined || !isBuiltInTemplate(run.template)) {
    return { kind: 'waiting' };
  }
  const next = dateOf(nextTryAt);
  return {
    kind: 'running',
    plan: { ...run, template: run.template, parameters: run.parameters },
    attempt: attempts,
    isBegun: begun >= attempts,
    startedAt,
    ...(next === undefined ? {} : { nextTryAt: next }),
    ...(stopping === undefined ? {} : { stopping }),
    progress,
    said: status?.conditions?.find(({ type }) => type === 'Running')?.message ?? '',
  };
}

/** The operation as its tries run: by the plan of the first, whatever became of its template since. */
export function asPlanned(operation: Operation, standing: Standing): Operation {
  if (standing.kind !== 'running') return operation;
  const { template, parameters } = standing.plan;
  return { ...operation, spec: { ...operation.spec, template, parameters: { ...parameters } } };
}

export function deadlineOf({ startedAt, plan }: Extract<Standing, { kind: 'running' }>): Date {
  return new Date(startedAt.getTime() + plan.deadlineSeconds * 1000);
}

function dateOf(text: string | undefined): Date | undefined {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : new Date(time);
}
