import type { KubeObject } from '../../../resources/kube-object.ts';
import { isPruned } from '../../../resources/intent-ids.ts';
import { refOf } from '../../../resources/kube-object.ts';
import { findCondition } from '../../../resources/conditions.ts';
import type { HelmRelease } from '../../../resources/flux-helm-release.ts';
import { APPLICATION_INSTANCE_FINALIZER, TOMBSTONE_ANNOTATION } from '../../../resources/labels.ts';
import { Reason } from '../../../resources/reasons.ts';
import { markIsUnclear } from '../../tombstone-mark.ts';
import { endInstance } from '../end-instance.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import { leftovers } from '../leftovers.ts';
import { isOwned, RELEASE_FIELD_MANAGER } from '../owned-meta.ts';
import { releaseOf } from '../release-history.ts';
import { deleteSealedSecret, SEALED_SECRET_ANNOTATION } from '../sealed-secret.ts';
import { degraded, held, progressing, type Verdict } from '../verdict.ts';

/** From then on a person is asked to look; the wait itself has no end, since giving up would leave a release behind. */
const STUCK_AFTER_MS = 10 * 60_000;
const LOOK_AGAIN_MS = 60_000;
const UNCLEAR_AFTER_MS = 5000;
const UNCLEAR_AGAIN_MS = 250;

/**
 * The end of an instance:
 *
 *     tombstone and deletionPolicy Delete:  HelmRelease resumed, deleted ──► gone ──► source, Secret deleted ──► Uninstalled ──► finalizer off
 *     otherwise (by hand, or Orphan):       everything stays ──► Orphaned ──► finalizer off
 */
export async function finalize(pass: InstancePass): Promise<StepResult> {
  const { instance } = pass;
  if (instance.metadata.deletionTimestamp === undefined) return NEXT;
  if (instance.metadata.finalizers?.includes(APPLICATION_INSTANCE_FINALIZER) !== true) return { kind: 'done' };
  const isMeant = instance.metadata.annotations?.[TOMBSTONE_ANNOTATION] !== undefined;
  if (markIsUnclear(instance, { inventory: pass.deps.inventory, policy: pass.policy }))
    return { kind: 'done', ...untilReadAnew(pass) };
  if (isMeant && instance.spec.deletionPolicy !== 'Orphan') return await uninstall(pass);
  return await orphan(pass, isMeant);
}

/** The answer to our own delete comes after the watch's: that is no news. */
function untilReadAnew(pass: InstancePass): { readonly verdict?: Verdict; readonly requeueAfterMs: number } {
  const since = pass.deps.clock.now().getTime() - Date.parse(pass.instance.metadata.deletionTimestamp ?? '');
  if (since < UNCLEAR_AFTER_MS) return { requeueAfterMs: UNCLEAR_AGAIN_MS };
  const message =
    'waits until Git was read, which says whether this deletion is meant; to uninstall at once, or to keep what was made ' +
    `of it, set the annotation ${TOMBSTONE_ANNOTATION} to another value, or take it off`;
  return { verdict: progressing(Reason.Uninstalling, message), requeueAfterMs: UNCLEAR_AGAIN_MS };
}

async function uninstall(pass: InstancePass): Promise<StepResult> {
  const { release, ociRepository, helmRepository } = pass;
  if (release !== undefined && isOwned(release, pass.instance)) {
    await resume(pass, release);
    await deleteOwned(pass, release);
    // What it read before its values were sealed no more, if that is still there; later nothing tells its UID.
    const left = release.metadata.annotations?.[SEALED_SECRET_ANNOTATION];
    if (pass.instance.spec.sealedValues === undefined && left !== undefined) await deleteSealedSecret(pass, left);
    return { kind: 'done', verdict: uninstalling(pass, release), requeueAfterMs: LOOK_AGAIN_MS };
  }
  for (const source of [ociRepository, helmRepository]) if (source !== undefined) await deleteOwned(pass, source);
  if (pass.instance.spec.sealedValues !== undefined) await deleteSealedSecret(pass, undefined);
  const name = pass.instance.spec.releaseName ?? pass.instance.metadata.name;
  const why = isPruned(pass.instance) ? ': its file was removed from Git' : '';
  return await endInstance(pass, held(Reason.Uninstalled, `release ${name} is uninstalled${why}`));
}

/** Flux lets go of a suspended HelmRelease and leaves what it installed, which an uninstall is to take along. */
async function resume(pass: InstancePass, release: HelmRelease): Promise<void> {
  if (release.spec.suspend !== true || release.metadata.deletionTimestamp !== undefined) return;
  const { uid } = release.metadata;
  const precondition = uid === undefined ? {} : { metadata: { uid } };
  const options = { fieldManager: RELEASE_FIELD_MANAGER };
  await pass.deps.api.mergePatch(refOf(release), { ...precondition, spec: { suspend: false } }, options, pass.signal);
}

async function orphan(pass: InstancePass, isMeant: boolean): Promise<StepResult> {
  const why = isMeant
    ? 'spec.deletionPolicy is Orphan'
    : 'it was deleted by hand, without a tombstone of the control plane';
  const message = `${whatStays(pass)}: ${why}${howToEnd(pass)}`;
  if (!pass.deps.ended.has(pass.instance.metadata.uid ?? '')) {
    pass.deps.recorder?.record(pass.instance, { type: 'Warning', reason: Reason.Orphaned, message });
  }
  return await endInstance(pass, held(Reason.Orphaned, message));
}

/** A blocked instance was never released. What Flux has is seen only where the operator works; elsewhere it may be there. */
function whatStays({ instance, watches, release, ociRepository, helmRepository }: InstancePass): string {
  const { name, namespace = '' } = instance.metadata;
  const owned = [release, ociRepository, helmRepository].flatMap((object) =>
    object === undefined || !isOwned(object, instance) ? [] : [`${object.kind} ${object.metadata.name}`],
  );
  if (owned.length > 0) return `what was made of it stays in the cluster (${owned.join(', ')})`;
  if (watches.flux.grantOf(namespace) === 'granted')
    return 'nothing was released of it, so nothing stays in the cluster';
  return `HelmRelease ${name} and its chart source stay in the cluster, where they are there`;
}

/** An uninstall that is asked for later finds no object, and says this. */
function howToEnd({ instance, release, ociRepository, helmRepository }: InstancePass): string {
  const owned = [release, ociRepository, helmRepository].flatMap((object) =>
    object === undefined || !isOwned(object, instance) ? [] : [`${object.kind.toLowerCase()}/${object.metadata.name}`],
  );
  if (owned.length === 0) return '';
  return `; to uninstall that too: kubectl -n ${instance.metadata.namespace ?? ''} delete ${owned.join(' ')}`;
}

async function deleteOwned(pass: InstancePass, object: KubeObject): Promise<void> {
  const uid = object.metadata.uid;
  if (uid === undefined || object.metadata.deletionTimestamp !== undefined || !isOwned(object, pass.instance)) return;
  await pass.deps.api.delete(refOf(object), { uid }, pass.signal);
}

function uninstalling(pass: InstancePass, release: HelmRelease): Verdict {
  const name = release.metadata.name;
  const seen = releaseOf(release);
  const state = findCondition(release.status?.conditions, 'Ready');
  const since = Date.parse(pass.instance.metadata.deletionTimestamp ?? '');
  const isStuck = pass.deps.clock.now().getTime() - since > STUCK_AFTER_MS;
  const hasFailed = state?.status === 'False' && state.reason === 'UninstallFailed';
  if (!isStuck && !hasFailed) return progressing(Reason.Uninstalling, `waits until HelmRelease ${name} is gone`, seen);
  const message = hasFailed
    ? `HelmRelease ${name} cannot be uninstalled: ${state.message ?? 'no reason is given'}`
    : `HelmRelease ${name} is not gone after ${STUCK_AFTER_MS / 60_000} minutes; is the release controller running?`;
  return degraded(Reason.HelmReleaseUninstallFailed, message + leftovers(pass), {
    retrying: Reason.Uninstalling,
    stalled: isStuck,
    ...(seen === undefined ? {} : { release: seen }),
  });
}
