import { describe, expect, it } from 'vitest';
import type { ClusterPolicy } from '../../../src/reconcile/cluster-policy.ts';
import { policyVerdict } from '../../../src/reconcile/application-instance/policy-verdict.ts';
import type { ApplicationInstance } from '../../../src/resources/application-instance.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { anInstance, aNamespace, aPolicy } from '../manifests.ts';

interface Case {
  readonly instance?: ApplicationInstance;
  readonly namespace?: KubeObject;
  readonly policy?: ClusterPolicy;
}

function judge({ instance = anInstance(), namespace = aNamespace(), policy = aPolicy() }: Case) {
  return policyVerdict(instance, namespace, policy);
}

const chart = anInstance().spec.chart;

describe('policyVerdict', () => {
  it('lets the chart of the catalog entry through', () => {
    expect(judge({})).toBeUndefined();
  });

  const refusals: readonly [string, Case, string, string][] = [
    [
      'another address than the catalog entry says',
      { instance: anInstance({ spec: { chart: { ...chart, url: 'oci://evil.test/podinfo' } } }) },
      'ChartNotAllowed',
      'spec.chart.url is oci://evil.test/podinfo; catalog entry podinfo says oci://registry.test/charts/podinfo',
    ],
    [
      'another type than the catalog entry says',
      { instance: anInstance({ spec: { chart: { ...chart, type: 'helm' } } }) },
      'ChartNotAllowed',
      'spec.chart.type is helm; catalog entry podinfo says oci',
    ],
    [
      'a version outside the range',
      { instance: anInstance({ version: '7.0.0' }) },
      'ChartNotAllowed',
      'spec.chart.version 7.0.0 is outside >=6.5.0 <7, which catalog entry podinfo allows',
    ],
    [
      'an entry that the cluster does not have',
      { instance: anInstance({ spec: { catalogEntry: 'redis' } }) },
      'ChartNotAllowed',
      'catalog entry redis is not allowed for this cluster; allowed: podinfo',
    ],
    [
      'a namespace that is no longer allowed',
      { policy: aPolicy({ allowedNamespaces: ['bank'] }) },
      'NamespaceNotAllowed',
      'namespace shop is not allowed for this cluster; allowed: bank',
    ],
    [
      'a target namespace that is not allowed',
      { instance: anInstance({ spec: { targetNamespace: 'kube-system' } }) },
      'NamespaceNotAllowed',
      'targetNamespace kube-system is not allowed for this cluster; allowed: shop',
    ],
    [
      'a namespace without the label',
      { namespace: aNamespace('shop', { labels: {} }) },
      'NamespaceNotAllowed',
      'namespace shop is not labelled for the operator; a cluster admin runs: kubectl label namespace shop managed-by=service',
    ],
    [
      'values that it cannot open',
      { instance: anInstance({ spec: { sealedValues: 'ey..' } }) },
      'SealedValuesNotSupported',
      'this operator version does not open spec.sealedValues; nothing is released without them',
    ],
  ];

  it.each(refusals)('stalls on %s', (_, situation, reason, message) => {
    expect(judge(situation)).toEqual({
      ready: { status: 'False', reason, message },
      reconciling: { status: 'False', reason, message },
      stalled: { status: 'True', reason, message },
    });
  });
});
