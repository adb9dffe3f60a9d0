import type { KubeObject } from '../resources/kube-object.ts';
import { KubeError, type ClusterApi } from './cluster-api.ts';
import { asSeen } from './patch-as-seen.ts';

/**
 * Server-side apply over an object that is there. Servers of 1.20 leave `null` where an apply gives up a whole map, such as
 * `spec.values`, and then refuse it for that (422). There the map is taken out first, where nobody else owns a part of it.
 *
 * @throws KubeError
 */
export async function applyOver(
  api: Pick<ClusterApi, 'apply' | 'jsonPatch'>,
  manifest: KubeObject,
  live: KubeObject | undefined,
  { fieldManager }: { readonly fieldManager: string },
  signal: AbortSignal,
): Promise<{ readonly object: KubeObject }> {
  try {
    return await api.apply<KubeObject>(manifest, { fieldManager }, signal);
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 422 || live === undefined) throw error;
    const isGivenUp = memberOf(live['spec'], 'values') !== undefined && !hasMember(manifest['spec'], 'values');
    if (!isGivenUp || !isOwnedBy(live, fieldManager)) throw error;
    const { apiVersion, kind } = manifest;
    const { name, namespace } = manifest.metadata;
    const ref = { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
    const patch = [asSeen(live), { op: 'remove', path: '/spec/values' } as const];
    const bare = await api.jsonPatch<KubeObject>(ref, patch, { fieldManager: `${fieldManager}-meta` }, signal);
    const { resourceVersion } = bare.metadata;
    const metadata = { ...manifest.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    return await api.apply<KubeObject>({ ...manifest, metadata }, { fieldManager }, signal);
  }
}

/** Whether the map is the manager's alone. */
function isOwnedBy({ metadata }: KubeObject, fieldManager: string): boolean {
  const owners = (metadata.managedFields ?? []).filter(({ fieldsV1 }) =>
    hasMember(memberOf(fieldsV1, 'f:spec'), 'f:values'),
  );
  return (
    owners.length > 0 && owners.every(({ manager, operation }) => manager === fieldManager && operation === 'Apply')
  );
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

function hasMember(value: unknown, name: string): boolean {
  return memberOf(value, name) !== undefined;
}
