import type { KubeError } from '../../kube/cluster-api.ts';
import type { Operation } from '../../resources/operation.ts';
import { Reason } from '../../resources/reasons.ts';
import { decideOperation, needsVerdict, type Ending, type Seen, type Verdict } from './decide-operation.ts';
import { statusAfter, statusAtEnd, statusRestated, type NextStatus } from './operation-status.ts';
import { deadlineOf, standingOf, type Standing } from './operation-standing.ts';
import type { FailedTry, LeftBehind, OutputRef, RunState } from './template-runner.ts';

export type RunningStanding = Extract<Standing, { kind: 'running' }>;

/** What a pass does in the cluster. Each may throw, and the pass is then made again, by what stands in the status. */
export interface OperationEffects {
  readonly now: () => Date;
  readonly random: () => number;
  /** Whether a try may begin now; the first one, or another. */
  readonly judge: (operation: Operation, standing: Standing) => Promise<Verdict>;
  /**
   * Durable once it resolves, and refused where the object is not as it was seen: what was asked for in between must count.
   *
   * @param ifDenied what is told instead where the status cannot be written
   */
  readonly write: (operation: Operation, status: NextStatus, ifDenied?: NextStatus) => Promise<Operation>;
  /** Whether the object is still the one that was seen. */
  readonly isAsSeen: (operation: Operation) => Promise<boolean>;
  readonly start: (operation: Operation, standing: RunningStanding) => Promise<FailedTry | void>;
  readonly observe: (operation: Operation, standing: RunningStanding) => Promise<RunState>;
  readonly stop: (operation: Operation, standing: RunningStanding) => Promise<LeftBehind | void>;
  readonly isStoppable: (standing: Standing) => boolean;
  readonly isCancellable: (standing: Standing) => boolean;
  /** Where the operation had begun before, as another object: what is said of a cancellation that comes now. */
  readonly hadBegun: (operation: Operation) => string | undefined;
  /** Whether what stands there of what runs was written by this operator, or another of this cluster. */
  readonly isOurs: (operation: Operation) => boolean;
  /** Durable once it resolves: no approval of the operation is good for anything any more. */
  readonly withdraw: (operation: Operation) => Promise<void>;
  /** Keeps the text beside the operation, or answers why that cannot be. */
  readonly keepOutput: (operation: Operation, text: string) => Promise<OutputRef | string>;
  /** Removes an operation whose time is over; answers when to look again where that has to wait. */
  readonly remove: (operation: Operation) => Promise<Date | undefined>;
  /** The faults of the API server, which say nothing about the operation. */
  readonly isFault: (error: unknown) => error is KubeError;
}

/** How long what cannot be stopped may hold up the end of an operation that is past its deadline. */
const STOP_WITHIN_MS = 60_000;
const MOST_STEPS = 12;
/** What is Blocked is judged anew so much later, should nothing tell that it may go on. */
const BLOCKED_MS = 60_000;
/** The watch has caught up by then. */
const BEHIND_MS = 1000;

/**
 * Takes an operation as far as it goes now, and answers when to look again.
 *
 * @throws whatever an effect throws
 */
export async function passOperation(
  effects: OperationEffects,
  seenFirst: Operation,
  pause: string | undefined,
): Promise<Date | undefined> {
  let operation = seenFirst;
  let seen: Seen | undefined;
  // By this pass: that the try was started is known before it is written down.
  let startedTry = 0;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const { now, random } = effects;
    const written = standingOf(operation);
    const standing: Standing =
      written.kind === 'running' && written.attempt === startedTry ? { ...written, isBegun: true } : written;
    const { cancel = false, ttlSecondsAfterFinished: ttlSeconds } = operation.spec;
    const hadBegun = cancel && standing.kind === 'waiting' ? effects.hadBegun(operation) : undefined;
    const view = {
      standing,
      isAltered: standing.kind === 'running' && !effects.isOurs(operation),
      isCancelAsked: cancel,
      ...(hadBegun === undefined ? {} : { hadBegun }),
      isCancellable: effects.isCancellable(standing) && effects.isStoppable(standing),
      isStoppable: effects.isStoppable(standing),
      ...(seen === undefined ? {} : { seen }),
      ...(pause === undefined ? {} : { pause }),
      ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
      now: now(),
      random,
    };
    const verdict = needsVerdict(view) ? { verdict: await effects.judge(operation, standing) } : {};
    const decision = decideOperation({ ...view, ...verdict });
    switch (decision.kind) {
      case 'rest':
        await effects.write(operation, statusRestated(operation, view.now));
        return decision.again;
      case 'block':
        await effects.write(operation, statusAfter(operation, decision, view));
        // No watch tells of room in the memory of approvals, nor of a moment that an approval waits for.
        return new Date(view.now.getTime() + BLOCKED_MS);
      case 'say':
      case 'retry':
        await effects.write(operation, statusAfter(operation, decision, view));
        return decision.again;
      case 'remove':
        return await effects.remove(operation);
      case 'look':
        seen = await look(effects, operation, standing);
        break;
      case 'begin':
        operation = await effects.write(
          operation,
          statusAfter(operation, decision, view),
          decision.attempt > 1 ? undefined : statusAfter(operation, NOT_WRITTEN, view),
        );
        seen = await begun(effects, operation);
        startedTry = seen === undefined ? decision.attempt : startedTry;
        break;
      case 'start':
        // The watch may be behind, and the try have begun and gone since.
        if (!(await effects.isAsSeen(operation))) return new Date(view.now.getTime() + BEHIND_MS);
        seen = await begun(effects, operation);
        startedTry = seen === undefined && standing.kind === 'running' ? standing.attempt : startedTry;
        break;
      case 'stop':
        operation = await effects.write(operation, statusAfter(operation, decision, view));
        operation = await ended(effects, operation, await stopped(effects, operation, standing, decision.ending));
        break;
      case 'end':
        operation = await ended(effects, operation, decision.ending);
    }
  }
  return effects.now();
}

const NOT_WRITTEN = {
  kind: 'block',
  reason: Reason.NamespaceNotGranted,
  message: 'the operator may not write the status of operations here, and runs nothing that it cannot write down',
} as const;

/** @returns why the try cannot begin; undefined: it has begun */
async function begun(effects: OperationEffects, operation: Operation): Promise<FailedTry | undefined> {
  const standing = standingOf(operation);
  return standing.kind === 'running' ? ((await effects.start(operation, standing)) ?? undefined) : undefined;
}

async function look(effects: OperationEffects, operation: Operation, standing: Standing): Promise<Seen | undefined> {
  if (standing.kind !== 'running') return undefined;
  try {
    return await effects.observe(operation, standing);
  } catch (error) {
    // The deadline holds, whether it can be seen how the try stands or not.
    if (!effects.isFault(error) || effects.now() < deadlineOf(standing)) throw error;
    return { state: 'unknown', message: error.message };
  }
}

async function stopped(
  effects: OperationEffects,
  operation: Operation,
  standing: Standing,
  ending: Ending,
): Promise<Ending> {
  if (standing.kind !== 'running') return ending;
  try {
    const { output } = (await effects.stop(operation, standing)) ?? {};
    return output === undefined ? ending : { ...ending, output };
  } catch (error) {
    const lastTry = deadlineOf(standing).getTime() + STOP_WITHIN_MS;
    if (!effects.isFault(error) || effects.now().getTime() < lastTry) throw error;
    return { ...ending, message: `${ending.message}; it could not be stopped: ${error.message}` };
  }
}

async function ended(effects: OperationEffects, operation: Operation, ending: Ending): Promise<Operation> {
  const { output, message } = ending;
  await effects.withdraw(operation);
  const kept = output === undefined || output === '' ? undefined : await effects.keepOutput(operation, output);
  const whole =
    kept === undefined
      ? ending
      : typeof kept === 'string'
        ? { ...ending, message: `${message}; its output is not kept: ${kept}` }
        : { ...ending, outputRef: kept };
  return await effects.write(operation, statusAtEnd(operation, whole, effects.now()));
}
