import type { IntentRecord } from '../../src/intent/intent-record.ts';
import type { RenderInputs } from '../../src/intent/render.ts';

export const target = { clusterId: 'c-0123456789abcdef', slug: 'prod-eu', deliveryEpoch: 2 };
export const install: IntentRecord = {
  intentVersion: 'v1alpha1',
  id: 'int-1',
  action: 'install',
  namespace: 'shop',
  name: 'podinfo',
  generation: 3,
  catalogEntry: 'podinfo',
  chartVersion: '6.5.0',
  values: { replicaCount: 2 },
  requestedBy: 'admin',
  requestedAt: '2026-11-28T00:00:00.000Z',
  reason: 'first try',
};
export const inputs: RenderInputs = {
  chart: { type: 'oci', url: 'oci://ghcr.io/stefanprodan/charts/podinfo', name: 'podinfo' },
  defaultValues: { replicaCount: 1, ui: { message: 'hello', color: '#34577c' } },
};
