import type { KindRef } from '../kube/cluster-api.ts';
import { APPS_API_VERSION, OPS_API_VERSION } from '../resources/labels.ts';

/** The only kinds that a source may bring, in every mode (decisions, "Jobs"). */
export const DELIVERED_KINDS: readonly KindRef[] = [
  { apiVersion: APPS_API_VERSION, kind: 'ApplicationInstance' },
  { apiVersion: OPS_API_VERSION, kind: 'Operation' },
];

export function isDeliveredKind(of: KindRef): boolean {
  return DELIVERED_KINDS.some((kind) => kind.apiVersion === of.apiVersion && kind.kind === of.kind);
}
