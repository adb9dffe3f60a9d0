/** Where the sandbox's release controller has its charts. */
export const CHART_URL = 'oci://registry.test/charts/podinfo';

const HOUR_MS = 3_600_000;

/** A job of kind apply for an instance `name` of the catalog's entry. */
export function applyJob(
  id: string,
  name: string,
  generation: number,
  changes: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    id,
    kind: 'apply',
    payload: {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      metadata: { name, namespace: 'shop', annotations: { 'app.service.io/source': `1.${generation}` } },
      spec: {
        catalogEntry: 'podinfo',
        chart: { type: 'oci', url: CHART_URL, name: 'podinfo', version: '6.5.0' },
        values: {},
      },
    },
    idempotencyKey: `applicationinstance/shop/${name}@${generation}`,
    createdAt: new Date().toISOString(),
    expiresAt: new Date(Date.now() + HOUR_MS).toISOString(),
    deliveryEpoch: 1,
    generation,
    intentId: `int-${id}`,
    ...changes,
  };
}

/** A job of kind delete for it. */
export function deleteJob(id: string, name: string, generation: number): Record<string, unknown> {
  const payload = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop', name };
  return applyJob(id, name, generation, { kind: 'delete', payload });
}
