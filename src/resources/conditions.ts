import type { Condition } from '../protocol/condition.ts';

/** A condition as a writer gives it; most leave the time to `setCondition`. */
export type NewCondition = Omit<Condition, 'lastTransitionTime'> & { readonly lastTransitionTime?: string };

/** What a condition holds, on the wire and in a status. */
const MAX_MESSAGE = 32_768;

/** The condition of a type, or undefined. */
export function findCondition(list: readonly Condition[] | undefined, type: string): Condition | undefined {
  return list?.find((condition) => condition.type === type);
}

/** Whether the condition of a type is there and `True`. */
export function isTrue(list: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(list, type)?.status === 'True';
}

/**
 * The list with `next` in place of the condition of its type, or at the end. `lastTransitionTime` is `now` when the
 * status differs from before and stays otherwise, whatever reason and message say (Kubernetes API conventions). A time that
 * `next` brings holds: a credential that was rotated is a transition of its own (decisions, "Events").
 * The list itself is not changed; when nothing differs, the very same list comes back, so that no write follows.
 */
export function setCondition(list: readonly Condition[], next: NewCondition, now: Date): readonly Condition[] {
  const index = list.findIndex((condition) => condition.type === next.type);
  const before = list[index];
  const kept = before?.status === next.status ? before.lastTransitionTime : undefined;
  const at = next.lastTransitionTime ?? kept ?? now.toISOString();
  const after: Condition = { ...bounded(next), lastTransitionTime: at };
  if (before === undefined) return [...list, after];
  return isSame(before, after) ? list : list.with(index, after);
}

/** The list without the condition of a type; the very same list when it has none. */
export function removeCondition(list: readonly Condition[], type: string): readonly Condition[] {
  return list.some((condition) => condition.type === type) ? list.filter((condition) => condition.type !== type) : list;
}

/** Conditions of `after` whose status, reason or message differ from `before`, or that `before` has not. */
export function changedConditions(before: readonly Condition[], after: readonly Condition[]): Condition[] {
  return after.filter((condition) => {
    const old = findCondition(before, condition.type);
    return (
      old === undefined ||
      old.status !== condition.status ||
      (old.reason ?? '') !== (condition.reason ?? '') ||
      (old.message ?? '') !== (condition.message ?? '')
    );
  });
}

/** What others said is taken over into messages, at whatever length they say it. */
function bounded<T extends Omit<Condition, 'lastTransitionTime'>>(condition: T): T {
  const { message } = condition;
  if (message === undefined || message.length <= MAX_MESSAGE) return condition;
  return { ...condition, message: `${message.slice(0, MAX_MESSAGE - 1).toWellFormed()}…` };
}

function isSame(a: Condition, b: Condition): boolean {
  return (
    a.status === b.status &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.lastTransitionTime === b.lastTransitionTime &&
    a.observedGeneration === b.observedGeneration
  );
}
