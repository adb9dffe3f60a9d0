import type { Condition } from '../../protocol/condition.ts';
import { findCondition, setCondition, type NewCondition } from '../../resources/conditions.ts';
import type { Operation, OperationPhase, OperationStatus } from '../../resources/operation.ts';
import { Reason } from '../../resources/reasons.ts';
import type { Decision, Ending } from './decide-operation.ts';
import { ENDS } from './operation-standing.ts';
import { toldFailure } from './told-failure.ts';

/** The status without what the one writer adds of its own (`source`, `observedGeneration`). */
export type NextStatus = Omit<OperationStatus, 'source' | 'observedGeneration' | 'conditions'> & {
  readonly conditions: readonly Condition[];
  readonly phase?: OperationPhase;
};

interface Moment {
  readonly now: Date;
}

type Told = Extract<Decision, { kind: 'block' | 'begin' | 'say' | 'retry' | 'stop' }>;
type Says = Omit<NewCondition, 'observedGeneration'>;

const MAX_PROGRESS = 1000;

/** What is written down of a decision. All six conditions stand in every status, and the phase is the one that counts. */
export function statusAfter(operation: Operation, decision: Told, { now }: Moment): NextStatus {
  const before = kept(operation);
  switch (decision.kind) {
    case 'block':
      return { ...before, ...conditionsFor(operation, 'Blocked', blocked(decision.reason, decision.message), now) };
    case 'begin': {
      const { attempt, plan, message } = decision;
      // Of one that had not begun, whatever stood there was none of ours.
      const { nextTryAt: _due, progress: _progress, ...rest } = attempt === 1 ? {} : before;
      return {
        ...rest,
        ...conditionsFor(operation, 'Running', running(Reason.OperationRunning, message), now),
        attempts: attempt,
        run: { ...plan, parameters: { ...plan.parameters } },
        startedAt: rest.startedAt ?? now.toISOString(),
      };
    }
    case 'retry': {
      const { progress: _progress, ...rest } = before;
      return {
        ...rest,
        ...conditionsFor(operation, 'Running', running(Reason.OperationRetrying, oneLine(decision.message)), now),
        begun: before.attempts ?? 0,
        nextTryAt: decision.again.toISOString(),
        ...(decision.outputRef === undefined ? {} : { outputRef: decision.outputRef }),
      };
    }
    case 'stop':
      // The conditions stay: that it ends is told when it has.
      return { ...statusRestated(operation, now), begun: before.attempts ?? 0, stopping: decision.ending.end };
    case 'say': {
      const { message, isBegun, progress, outputRef } = decision;
      const reason = before.nextTryAt === undefined ? Reason.OperationRunning : Reason.OperationRetrying;
      return {
        ...before,
        ...conditionsFor(operation, 'Running', running(reason, oneLine(message)), now),
        ...(isBegun ? { begun: before.attempts ?? 0 } : {}),
        ...(progress === undefined ? {} : { progress: cut(oneLine(progress), MAX_PROGRESS) }),
        ...(outputRef === undefined ? {} : { outputRef }),
      };
    }
  }
}

export function statusAtEnd(operation: Operation, ending: Ending, now: Date): NextStatus {
  const { end, reason, message, outputRef } = toldFailure(operation, ending);
  const { nextTryAt: _due, stopping: _stopping, progress: _progress, ...before } = kept(operation);
  const hasRun = before.attempts !== undefined && before.attempts > 0;
  const others = ENDS.filter((type) => type !== end).map((type) => notReached(type));
  const accepted: Says = hasRun
    ? ACCEPTED
    : { type: 'Accepted', status: 'False', reason, message: 'it ended before it was accepted' };
  const says: readonly Says[] = [
    accepted,
    NOT_BLOCKED,
    { type: 'Running', status: 'False', reason: hasRun ? Reason.Finished : Reason.NotStarted },
    { type: end, status: 'True', reason, message: oneLine(message) },
    ...others,
  ];
  return {
    ...before,
    ...conditionsFor(operation, end, says, now),
    finishedAt: now.toISOString(),
    ...(outputRef === undefined ? {} : { outputRef }),
  };
}

/** The same status, as that of the spec which the object has now. */
export function statusRestated(operation: Operation, now: Date): NextStatus {
  const before = kept(operation);
  const { phase } = before;
  const conditions = (operation.status?.conditions ?? []).reduce<readonly Condition[]>(
    (list, condition) => setCondition(list, observed(operation, condition), now),
    operation.status?.conditions ?? [],
  );
  return { ...before, conditions, ...(phase === undefined ? {} : { phase }) };
}

/** The condition that counts: that of the phase. */
export function winningCondition({ conditions, phase }: NextStatus): Condition | undefined {
  return findCondition(conditions, phase ?? '');
}

const ACCEPTED: Says = { type: 'Accepted', status: 'True', reason: Reason.OperationAccepted };
const NOT_BLOCKED: Says = { type: 'Blocked', status: 'False', reason: Reason.NotBlocked };

function blocked(reason: Reason, message: string): readonly Says[] {
  // A pause says nothing of whether the operation is in order.
  const accepted = reason === Reason.Paused ? 'Unknown' : 'False';
  return [
    { type: 'Accepted', status: accepted, reason, message },
    { type: 'Blocked', status: 'True', reason, message },
    { type: 'Running', status: 'False', reason: Reason.NotStarted },
    ...ENDS.map(notReached),
  ];
}

function running(reason: Reason, message: string): readonly Says[] {
  return [ACCEPTED, NOT_BLOCKED, { type: 'Running', status: 'True', reason, message }, ...ENDS.map(notReached)];
}

function notReached(type: string): Says {
  return { type, status: 'False', reason: Reason.NotReached };
}

function conditionsFor(
  operation: Operation,
  phase: OperationPhase,
  says: readonly Says[],
  now: Date,
): Pick<NextStatus, 'conditions' | 'phase' | 'reason'> {
  const conditions = says.reduce<readonly Condition[]>(
    (list, next) => setCondition(list, observed(operation, next), now),
    operation.status?.conditions ?? [],
  );
  const reason = findCondition(conditions, phase)?.reason;
  return { conditions, phase, ...(reason === undefined ? {} : { reason }) };
}

function observed<T extends Says>({ metadata }: Operation, condition: T): T & { observedGeneration: number } {
  return { ...condition, observedGeneration: metadata.generation ?? 0 };
}

function kept({ status }: Operation): Omit<NextStatus, 'conditions'> {
  const { conditions: _conditions, source: _source, observedGeneration: _generation, ...rest } = status ?? {};
  return rest;
}

/** What others said is taken over into messages. */
function oneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n]+\s*/g, ' ').trim();
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}
