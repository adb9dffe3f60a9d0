import { hashOf } from '../../policy/judge-approval.ts';
import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { findCondition } from '../../resources/conditions.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import { RELEASED_SPEC_ANNOTATION } from '../../resources/labels.ts';
import { Reason } from '../../resources/reasons.ts';
import { isOwned, RELEASE_FIELD_MANAGER } from './owned-meta.ts';

/**
 * Hash of the spec that the release was made of: an approval of it may end, and one may be asked for from now on, and what
 * stands still goes on standing. A HelmRelease that somebody deletes comes again by what the instance was Ready with.
 */
export function releasedSpecOf(instance: ApplicationInstance, release: HelmRelease | undefined): string | undefined {
  const isOurs = release !== undefined && isOwned(release, instance) && isWrittenByUs(release);
  const noted = isOurs ? release.metadata.annotations?.[RELEASED_SPEC_ANNOTATION] : undefined;
  return noted ?? (wasReleasedAsIs(instance) ? hashOf(instance.spec) : undefined);
}

/** The HelmRelease with what it is made of written beside it, in the same write. */
export function withReleasedSpec(desired: HelmRelease, specHash: string | undefined): HelmRelease {
  if (specHash === undefined) return desired;
  const annotations = { ...desired.metadata.annotations, [RELEASED_SPEC_ANNOTATION]: specHash };
  return { ...desired, metadata: { ...desired.metadata, annotations } };
}

/** Ready, or waiting for what it was Ready with to be gone: neither is said before the spec was let through. */
function wasReleasedAsIs({ metadata, status }: ApplicationInstance): boolean {
  const ready = findCondition(status?.conditions, 'Ready');
  if (ready?.observedGeneration !== metadata.generation) return false;
  return ready?.status === 'True' || ready?.reason === Reason.HelmReleasePending;
}

/** What somebody else wrote there says nothing. */
function isWrittenByUs({ metadata }: HelmRelease): boolean {
  return (metadata.managedFields ?? []).some(({ manager, fieldsV1 }) => {
    if (manager !== RELEASE_FIELD_MANAGER) return false;
    const annotations = memberOf(memberOf(fieldsV1, 'f:metadata'), 'f:annotations');
    return memberOf(annotations, `f:${RELEASED_SPEC_ANNOTATION}`) !== undefined;
  });
}

function memberOf(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null ? (object as Record<string, unknown>)[name] : undefined;
}
