import type { ApplicationInstance } from '../../resources/application-instance.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import { RELEASED_SPEC_ANNOTATION } from '../../resources/labels.ts';
import type { Secret } from '../../runtime/secret.ts';
import { isSealed, sealOf } from '../own-seal.ts';
import { isOwned } from './owned-meta.ts';

const PURPOSE = 'service-operator-released-spec';
const BETWEEN = '.';

type Place = 'HelmRelease' | 'ApplicationInstance';

/** Undefined `specHash`: nothing tells that it was released. `isDoubtful`: something says so that is not to be believed. */
export interface ReleasedSpec {
  readonly specHash?: string;
  readonly isDoubtful: boolean;
}

/**
 * Hash of the spec that the release was made of: an approval of it may end, and one may be asked for from now on, and what
 * stands still goes on standing. It is noted on the HelmRelease, in the write that releases it, and in the status of the
 * instance, by which a HelmRelease that somebody deletes comes again. Others may write in both places, so what counts is
 * only what carries the operator's seal.
 */
export function releasedSpecOf(
  instance: ApplicationInstance,
  release: HelmRelease | undefined,
  clusterId: string,
  ring: readonly Secret[],
): ReleasedSpec {
  const isOurs = release !== undefined && isOwned(release, instance);
  const notes: readonly (readonly [Place, string | undefined])[] = [
    ['HelmRelease', isOurs ? release.metadata.annotations?.[RELEASED_SPEC_ANNOTATION] : undefined],
    ['ApplicationInstance', instance.status?.releasedSpec],
  ];
  let isDoubtful = false;
  for (const [place, note] of notes) {
    if (note === undefined) continue;
    const [specHash = '', seal = ''] = note.split(BETWEEN);
    if (isSealed(seal, PURPOSE, sealedOf(place, specHash, instance), clusterId, ring)) {
      return { specHash, isDoubtful: false };
    }
    isDoubtful = true;
  }
  return { isDoubtful };
}

/** What is noted in one of the two places. */
export function releasedNote(
  place: Place,
  specHash: string,
  instance: ApplicationInstance,
  clusterId: string,
  key: Secret,
): string {
  return `${specHash}${BETWEEN}${sealOf(PURPOSE, sealedOf(place, specHash, instance), clusterId, key)}`;
}

/** The HelmRelease with what it is made of noted on it, in the same write. */
export function withReleasedSpec(desired: HelmRelease, note: string | undefined): HelmRelease {
  if (note === undefined) return desired;
  const annotations = { ...desired.metadata.annotations, [RELEASED_SPEC_ANNOTATION]: note };
  return { ...desired, metadata: { ...desired.metadata, annotations } };
}

/** A release may outlive its instance and be another's of that name; what an instance was does not come again with another. */
function sealedOf(place: Place, specHash: string, { metadata }: ApplicationInstance): unknown {
  const { uid, namespace, name } = metadata;
  return { place, specHash, instance: [namespace ?? null, name, ...(place === 'HelmRelease' ? [] : [uid ?? null])] };
}
