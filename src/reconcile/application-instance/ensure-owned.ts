import type { KubeObject } from '../../resources/kube-object.ts';
import { refOf } from '../../resources/kube-object.ts';
import { Reason } from '../../resources/reasons.ts';
import { fingerprint, holds } from '../drift.ts';
import type { WatchedView } from '../watched.ts';
import type { InstancePass, StepResult } from './instance-pass.ts';
import { FINGERPRINT_ANNOTATION, isOwned, RELEASE_FIELD_MANAGER } from './owned-meta.ts';
import { progressing, stalled } from './verdict.ts';

/** Still being deleted from before: looked at again after so long, should the watch not tell. */
const TERMINATING_RETRY_MS = 30_000;

export type Ensured<T> =
  | { readonly kind: 'there'; readonly object: T }
  | { readonly kind: 'held'; readonly result: StepResult };

/**
 * Brings a Flux object to what is desired. The fields we set are ours: an edit by hand is taken back. An object of the
 * same name that was not made of this instance is never touched.
 *
 * @throws KubeError
 */
export async function ensureOwned<T extends KubeObject>(
  pass: InstancePass,
  watched: WatchedView<T>,
  desired: T,
  observed: T | undefined,
): Promise<Ensured<T>> {
  const { api } = pass.deps;
  // The watch holds only what carries our label, so another's object shows here alone.
  const live = observed ?? (await api.get<T>(refOf(desired), pass.signal));
  const named = `${desired.kind} ${desired.metadata.namespace ?? ''}/${desired.metadata.name}`;
  if (live !== undefined && !isOwned(live, pass.instance)) {
    const message = `${named} exists and was not made from this resource; rename the one or remove the other`;
    return {
      kind: 'held',
      result: { kind: 'done', verdict: stalled(Reason.ReleaseNotOwned, message), requeueAfterMs: 60_000 },
    };
  }
  if (live?.metadata.deletionTimestamp !== undefined) {
    const verdict = progressing(Reason.HelmReleasePending, `waits until the earlier ${named} is gone`);
    return { kind: 'held', result: { kind: 'done', verdict, requeueAfterMs: TERMINATING_RETRY_MS } };
  }
  const print = fingerprint(desired);
  if (live?.metadata.annotations?.[FINGERPRINT_ANNOTATION] === print && holds(live, desired)) {
    return { kind: 'there', object: live };
  }
  const annotations = { ...desired.metadata.annotations, [FINGERPRINT_ANNOTATION]: print };
  const { object } = await api.apply<T>(
    { ...desired, metadata: { ...desired.metadata, annotations } },
    { fieldManager: RELEASE_FIELD_MANAGER, force: true },
    pass.signal,
  );
  watched.note(object);
  return { kind: 'there', object };
}
