import { refOf, type KubeObject } from '../resources/kube-object.ts';
import { KubeError, type ClusterApi, type JsonPatchOperation } from './cluster-api.ts';

/** Races with status writes and people are lost now and then, never for long. */
const MAX_TRIES = 5;

/** Keeps a patch off an object that has changed since it was read. */
export function asSeen({ metadata: { resourceVersion } }: KubeObject): JsonPatchOperation {
  return { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion };
}

/**
 * Patches an object by what `patchOf` makes of it as it stands, which begins with `asSeen`. Answers the same `live` where
 * that is nothing; else the object as it stands then, by which the caller judges anew; undefined when it is gone.
 *
 * @throws KubeError
 */
export async function patchAsSeen(
  api: Pick<ClusterApi, 'get' | 'jsonPatch'>,
  live: KubeObject,
  patchOf: (live: KubeObject) => readonly JsonPatchOperation[] | undefined,
  options: { readonly fieldManager: string },
  signal?: AbortSignal,
): Promise<KubeObject | undefined> {
  const ref = refOf(live);
  let found: KubeObject | undefined = live;
  for (let attempt = 1; ; attempt += 1) {
    const patch = found === undefined ? undefined : patchOf(found);
    if (found === undefined || patch === undefined) return found;
    try {
      return await api.jsonPatch<KubeObject>(ref, patch, options, signal);
    } catch (error) {
      if (!mayBeLostRace(error) || attempt === MAX_TRIES) throw error;
      const before: string | undefined = found.metadata.resourceVersion;
      found = await api.get<KubeObject>(ref, signal);
      // The server has something against the object itself, which no repetition changes.
      if (error.status === 422 && found?.metadata.resourceVersion === before) throw error;
    }
  }
}

/** A `test` that fails is a 422, as is an object that is not valid; 404 when it went meanwhile. */
function mayBeLostRace(error: unknown): error is KubeError {
  return error instanceof KubeError && [404, 409, 422].includes(error.status);
}
