import { useCallback, useRef } from 'preact/hooks';
import type { Change } from './live.ts';
import { useResource, type Resource } from './use-resource.ts';

/**
 * `useResource` of something that belongs to one cluster: once it is known which, changes of others are not looked at. On a
 * busy fleet they are many.
 */
export function useOfCluster<T extends { readonly clusterId: string }>(
  path: string,
  ...resources: readonly string[]
): Resource<T> & { readonly concerns: (change: Change) => boolean } {
  const cluster = useRef<string>(undefined);
  const kinds = useRef(resources);
  const concerns = useCallback(
    (change: Change) =>
      kinds.current.includes(change.resource) &&
      (cluster.current === undefined || change.clusterId === undefined || change.clusterId === cluster.current),
    [],
  );
  const resource = useResource<T>(path, concerns);
  cluster.current = resource.data?.clusterId ?? cluster.current;
  return { ...resource, concerns };
}
