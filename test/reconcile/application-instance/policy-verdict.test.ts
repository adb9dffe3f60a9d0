import { describe, expect, it } from 'vitest';
import type { ClusterPolicy } from '../../../src/policy/cluster-policy.ts';
import { policyVerdict } from '../../../src/reconcile/application-instance/policy-verdict.ts';
import type { ApplicationInstance } from '../../../src/resources/application-instance.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { anInstance, aNamespace, aPolicy } from '../manifests.ts';

interface Case {
  readonly instance?: ApplicationInstance;
  readonly namespace?: KubeObject;
  readonly policy?: ClusterPolicy;
}

async function judge({ instance = anInstance(), namespace = aNamespace(), policy = aPolicy() }: Case) {
  return await policyVerdict(instance, { namespace, policy, now: new Date('2026-03-01T10:00:00Z') });
}

const chart = anInstance().spec.chart;

describe('policyVerdict', () => {
  it('lets the chart of the catalog entry through', async () => {
    expect(await judge({})).toBeUndefined();
  });

  const refusals: readonly [string, Case, string, string][] = [
    [
      'another address than the catalog entry says',
      { instance: anInstance({ spec: { chart: { ...chart, url: 'oci://evil.test/podinfo' } } }) },
      'ChartNotAllowed',
      'spec.chart.url is oci://evil.test/podinfo; catalog entry podinfo says oci://registry.test/charts/podinfo; set it with: kubectl patch applicationinstance podinfo -n shop --type=merge -p \'{"spec":{"chart":{"url":"oci://registry.test/charts/podinfo"}}}\'',
    ],
    [
      'another type than the catalog entry says',
      { instance: anInstance({ spec: { chart: { ...chart, type: 'helm' } } }) },
      'ChartNotAllowed',
      'spec.chart.type is helm; catalog entry podinfo says oci; set it with: kubectl patch applicationinstance podinfo -n shop --type=merge -p \'{"spec":{"chart":{"type":"oci"}}}\'\nurl must begin with oci:// for type oci, and with https:// or http:// for type helm',
    ],
    [
      'a version outside the range',
      { instance: anInstance({ version: '7.0.0' }) },
      'ChartNotAllowed',
      'spec.chart.version 7.0.0 is outside >=6.5.0 <7, which catalog entry podinfo allows; take a version of that range, or an admin of the control plane widens it with: PUT /api/v1/catalog/podinfo',
    ],
    [
      'an entry that the cluster does not have',
      { instance: anInstance({ spec: { catalogEntry: 'redis' } }) },
      'ChartNotAllowed',
      'catalog entry redis is not allowed for this cluster; allowed: podinfo; an admin of the control plane adds to allowedCatalogEntries with: PATCH /api/v1/clusters/c-0123456789abcdef',
    ],
    [
      'a namespace that is no longer allowed',
      { policy: aPolicy({ allowedNamespaces: ['bank'] }) },
      'NamespaceNotAllowed',
      'namespace shop is not allowed for this cluster; allowed: bank; an admin of the control plane adds to allowedNamespaces with: PATCH /api/v1/clusters/c-0123456789abcdef',
    ],
    [
      'a target namespace that is not allowed',
      { instance: anInstance({ spec: { targetNamespace: 'kube-system' } }) },
      'NamespaceNotAllowed',
      'targetNamespace kube-system is not allowed for this cluster; allowed: shop; an admin of the control plane adds to allowedNamespaces with: PATCH /api/v1/clusters/c-0123456789abcdef',
    ],
    [
      'a namespace without the label',
      { namespace: aNamespace('shop', { labels: {} }) },
      'NamespaceNotLabelled',
      'namespace shop is not labelled for the operator; a cluster admin runs: kubectl label namespace shop managed-by=service',
    ],
    [
      'integers that were rounded when they were read',
      {
        instance: anInstance({
          spec: {
            values: JSON.parse('{"id":1234567890123456789,"list":[9007199254740991,-9007199254740993],"f":1.5}'),
          },
        }),
      },
      'SpecInvalid',
      'spec.values.id: the integer is beyond ±(2^53−1); send it as a string\nspec.values.list[1]: the integer is beyond ±(2^53−1); send it as a string',
    ],
    [
      'very many of them, named up to a bound',
      { instance: anInstance({ spec: { values: { ids: Array.from({ length: 900 }, () => 2 ** 60) } } }) },
      'SpecInvalid',
      [0, 1, 2, 3, 4]
        .map((n) => `spec.values.ids[${n}]: the integer is beyond ±(2^53−1); send it as a string`)
        .join('\n') + ' (and 895 more like it)',
    ],
  ];

  it.each(refusals)('stalls on %s', async (_, situation, reason, message) => {
    expect(await judge(situation)).toEqual({
      ready: { status: 'False', reason, message },
      reconciling: { status: 'False', reason, message },
      stalled: { status: 'True', reason, message },
    });
  });

  it('lists everything that is not allowed, and takes the first for the reason', async () => {
    const verdict = await judge({
      instance: anInstance({ version: '7.0.0', spec: { targetNamespace: 'kube-system' } }),
      namespace: aNamespace('shop', { labels: {} }),
    });
    expect(verdict?.stalled?.reason).toBe('NamespaceNotLabelled');
    expect(verdict?.stalled?.message.split('\n').map((line) => line.slice(0, 30))).toEqual([
      'namespace shop is not labelled',
      'targetNamespace kube-system is',
      'spec.chart.version 7.0.0 is ou',
    ]);
  });

  it('bounds the list of what is allowed', async () => {
    const allowedNamespaces = Array.from({ length: 1000 }, (_, index) => `n${index}`);
    const message = (await judge({ policy: aPolicy({ allowedNamespaces }) }))?.stalled?.message ?? '';
    expect(message).toContain('n18, n19 and 980 more;');
    expect(message.length).toBeLessThan(400);
  });
});
