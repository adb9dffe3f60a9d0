import { isLostRace, isNotFound } from '../../../kube/read-failure.ts';
import { findCondition } from '../../../resources/conditions.ts';
import { refOf } from '../../../resources/kube-object.ts';
import { Reason } from '../../../resources/reasons.ts';
import { endToRepeat } from '../../ends-to-repeat.ts';
import { sourceIsStale } from '../../stale-source.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import { held, stalled } from '../verdict.ts';

/**
 * Nothing is made of an instance that came after its own end, and nothing is adopted. The very payload whose uninstall was
 * carried out goes again, by its UID and as it was seen: that uninstall is the tombstone for it. Nothing was ever made of
 * it, so nothing goes with it. Everything else stays, and says what to do.
 */
export async function checkSource(pass: InstancePass): Promise<StepResult> {
  const { instance, deps, policy, signal } = pass;
  const stale = sourceIsStale(instance, deps.inventory, policy);
  if (stale === undefined) return NEXT;
  const { uid, resourceVersion, namespace, name } = instance.metadata;
  if (stale.removedBy === undefined || uid === undefined || resourceVersion === undefined) {
    const { message } = stale;
    const isKnown = findCondition(instance.status?.conditions, 'Ready')?.reason === Reason.StaleSource;
    if (stale.why === 'uninstalled') return { kind: 'done', verdict: stalled(Reason.StaleSource, message) };
    if (!isKnown) deps.recorder?.record(instance, { type: 'Warning', reason: Reason.StaleSource, message });
    return { kind: 'done', verdict: held(Reason.StaleSource, message) };
  }
  const message = `a late delivery brought it back after intent ${stale.removedBy} had uninstalled it; it is deleted again`;
  deps.recorder?.record(instance, { type: 'Warning', reason: Reason.StaleSource, message });
  deps.logger.warn({ namespace, name, uid, intentId: stale.removedBy }, message);
  try {
    await deps.api.delete(refOf(instance), { uid, resourceVersion }, signal);
  } catch (error) {
    // It is looked at again as it is then.
    if (!isLostRace(error) && !isNotFound(error)) throw error;
  }
  const known = deps.inventory.deleted(refOf(instance));
  const end = known && endToRepeat(known, policy.mode);
  if (end !== undefined) deps.reporter.statusChanged(end);
  return { kind: 'done' };
}
