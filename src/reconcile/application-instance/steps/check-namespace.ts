import { APPLICATION_INSTANCE_FINALIZER, TOMBSTONE_ANNOTATION } from '../../../resources/labels.ts';
import { Reason } from '../../../resources/reasons.ts';
import { notGrantedMessage } from '../../kube-failure.ts';
import { namespaceIsOpen } from '../../write-checks.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import { leftovers } from '../leftovers.ts';
import { held, stalled } from '../verdict.ts';
import { checkPolicy } from './check-policy.ts';
import { endInstance, letGo } from '../end-instance.ts';

/**
 * Where the operator may not work it writes nothing and deletes nothing, and the status says why. Two things are let go
 * of all the same, since holding on would only keep others waiting: an instance whose namespace is being deleted, and one
 * that was deleted by hand.
 */
export async function checkNamespace(pass: InstancePass): Promise<StepResult> {
  const { instance, namespace, policy, watches } = pass;
  const name = instance.metadata.namespace ?? '';
  if (namespace?.metadata.deletionTimestamp !== undefined) return await leave(pass);
  if (!namespaceIsOpen(name, namespace, policy)) {
    if (wasDeletedByHand(pass)) return NEXT;
    return await checkPolicy(pass);
  }
  if (watches.flux.grantOf(name) !== 'not_granted') return NEXT;
  return { kind: 'done', verdict: stalled(Reason.NamespaceNotGranted, notGrantedMessage(name) + leftovers(pass)) };
}

/**
 * The namespace goes, with everything in it, the operator's own RoleBinding included: soon the finalizer could not be
 * taken off any more and would hold the namespace up for ever. The namespace controller waits 5 s before it starts.
 */
async function leave(pass: InstancePass): Promise<StepResult> {
  const { instance } = pass;
  if (instance.metadata.finalizers?.includes(APPLICATION_INSTANCE_FINALIZER) !== true) return { kind: 'done' };
  const message = `namespace ${instance.metadata.namespace ?? ''} is being deleted, with all that is in it`;
  const verdict = held(Reason.Orphaned, message);
  if (instance.metadata.deletionTimestamp !== undefined) return await endInstance(pass, verdict);
  await letGo(pass);
  return { kind: 'done', verdict };
}

function wasDeletedByHand({ instance }: InstancePass): boolean {
  const { deletionTimestamp, annotations } = instance.metadata;
  return deletionTimestamp !== undefined && annotations?.[TOMBSTONE_ANNOTATION] === undefined;
}
