import { APPLICATION_INSTANCE_FINALIZER } from '../../resources/labels.ts';
import type { InstancePass } from './instance-pass.ts';
import { isOwned } from './owned-meta.ts';

/**
 * For an instance whose deletion cannot go on: what is still there, and how to end it without the operator. Empty for one
 * that is not being deleted.
 */
export function leftovers({ instance, release, ociRepository, helmRepository }: InstancePass): string {
  const { name, namespace = '', deletionTimestamp, finalizers = [] } = instance.metadata;
  if (deletionTimestamp === undefined) return '';
  const seen = [release, ociRepository, helmRepository].flatMap((object) =>
    object === undefined || !isOwned(object, instance)
      ? []
      : [`${object.kind} ${namespace}/${object.metadata.name}${heldBy(object.metadata)}`],
  );
  const objects =
    seen.length > 0 ? seen : [`HelmRelease ${namespace}/${name} and its chart source, where they are there`];
  const own = finalizers.includes(APPLICATION_INSTANCE_FINALIZER) ? [`ApplicationInstance ${namespace}/${name}`] : [];
  return (
    `. Left: ${[...objects, ...own].join('; ')}. It goes on by itself once the cause is mended. To give up and keep ` +
    `what is left: kubectl -n ${namespace} patch applicationinstance ${name} --type=merge -p ` +
    `'{"spec":{"deletionPolicy":"Orphan"}}', or where the operator has no rights, '{"metadata":{"finalizers":null}}'`
  );
}

function heldBy({ finalizers = [] }: { readonly finalizers?: readonly string[] }): string {
  return finalizers.length === 0 ? '' : ` (finalizers: ${finalizers.join(', ')})`;
}
