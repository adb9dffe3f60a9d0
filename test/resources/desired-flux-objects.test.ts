import { HelmRelease } from '@kubernetes-models/flux-cd/helm.toolkit.fluxcd.io/v2/HelmRelease';
import { HelmRepository } from '@kubernetes-models/flux-cd/source.toolkit.fluxcd.io/v1/HelmRepository';
import { OCIRepository } from '@kubernetes-models/flux-cd/source.toolkit.fluxcd.io/v1/OCIRepository';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { desiredRelease } from '../../src/reconcile/application-instance/desired-release.ts';
import {
  desiredHelmRepository,
  desiredOciRepository,
} from '../../src/reconcile/application-instance/desired-source.ts';
import { aNamespace, CLUSTER_ID } from '../reconcile/manifests.ts';
import { instanceInput } from '../support/instance-input.ts';

const account = fc.option(fc.constantFrom('service-applications', 'deployer'), { nil: undefined });

describe("the objects for Flux, whatever an instance says, are valid by Flux' schemas", () => {
  it('as HelmRelease', () => {
    fc.assert(
      fc.property(instanceInput, account, (instance, serviceAccount) => {
        const annotations = serviceAccount === undefined ? {} : { 'ops.service.io/service-account': serviceAccount };
        const release = desiredRelease(instance, aNamespace('shop', { annotations }), CLUSTER_ID);
        expect(() => new HelmRelease(release as never).validate()).not.toThrow();
        expect(release.spec.chart === undefined).toBe(instance.spec.chart.type === 'oci');
      }),
      { numRuns: 300 },
    );
  });

  it('as OCIRepository or HelmRepository', () => {
    fc.assert(
      fc.property(instanceInput, (instance) => {
        if (instance.spec.chart.type === 'oci') {
          const source = desiredOciRepository(instance, CLUSTER_ID);
          expect(() => new OCIRepository(source as never).validate()).not.toThrow();
          expect(source.spec.ref?.tag?.includes('+')).toBe(false);
        } else {
          const source = desiredHelmRepository(instance, CLUSTER_ID);
          expect(() => new HelmRepository(source as never).validate()).not.toThrow();
        }
      }),
      { numRuns: 300 },
    );
  });

  it('and the schemas would tell: an interval that is a number is refused', () => {
    const broken = {
      metadata: { name: 'a' },
      spec: { interval: 10, chartRef: { kind: 'OCIRepository', name: 'a' } },
    };
    expect(() => new HelmRelease(broken as never).validate()).toThrow(/interval/);
  });
});
