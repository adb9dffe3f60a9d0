import type { KubeObject } from '../../resources/kube-object.ts';
import { META_FIELD_MANAGER } from '../../resources/labels.ts';
import type { ClusterApi } from '../cluster-api.ts';

/** A `coordination.k8s.io/v1` Lease as it stands in the cluster. */
export interface LeaseObject extends KubeObject {
  spec?: {
    holderIdentity?: string | null;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** What one write says. `holder` undefined gives the Lease back: the next may take it at once. */
export interface LeaseWrite {
  readonly holder: string | undefined;
  readonly durationSeconds: number;
  readonly transitions: number;
  readonly renewedAt: Date;
  /** Left out to keep the one that stands. */
  readonly acquiredAt?: Date;
  readonly labels: Readonly<Record<string, string>>;
}

const KIND = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };

/** @throws KubeError */
export async function readLease(api: ClusterApi, at: LeaseName, signal: AbortSignal): Promise<LeaseObject | undefined> {
  return await api.get<LeaseObject>({ ...KIND, ...at }, signal);
}

/** @throws KubeError 409 when another was faster */
export async function createLease(
  api: ClusterApi,
  at: LeaseName,
  write: LeaseWrite,
  signal: AbortSignal,
): Promise<LeaseObject> {
  const object = { ...KIND, metadata: { ...at, labels: { ...write.labels } }, spec: specOf(write) };
  return await api.create<LeaseObject>(object, META_FIELD_MANAGER, signal);
}

/** Writes over exactly the version that was read. @throws KubeError 409 when there is a newer one, 404 when it is gone */
export async function replaceLease(
  api: ClusterApi,
  live: LeaseObject,
  write: LeaseWrite,
  signal: AbortSignal,
): Promise<LeaseObject> {
  const { name, namespace, resourceVersion } = live.metadata;
  const metadata = { resourceVersion, labels: { ...write.labels } };
  const ref = { ...KIND, name, ...(namespace === undefined ? {} : { namespace }) };
  return await api.mergePatch<LeaseObject>(
    ref,
    { metadata, spec: specOf(write) },
    { fieldManager: META_FIELD_MANAGER },
    signal,
  );
}

/** A holder that is no one is left out: newer servers refuse an empty one. */
function specOf(write: LeaseWrite): Record<string, unknown> {
  return {
    holderIdentity: write.holder ?? null,
    leaseDurationSeconds: write.durationSeconds,
    leaseTransitions: write.transitions,
    renewTime: microTime(write.renewedAt),
    ...(write.acquiredAt === undefined ? {} : { acquireTime: microTime(write.acquiredAt) }),
  };
}

/** Kubernetes' MicroTime takes exactly six decimals. */
function microTime(at: Date): string {
  return at.toISOString().replace('Z', '000Z');
}
