import { describe, expect, it } from 'vitest';
import { asReleased } from '../../../src/reconcile/application-instance/as-released.ts';
import { desiredRelease } from '../../../src/reconcile/application-instance/desired-release.ts';
import { RELEASE_FIELD_MANAGER } from '../../../src/reconcile/application-instance/owned-meta.ts';
import { policyVerdict } from '../../../src/reconcile/application-instance/policy-verdict.ts';
import type { ApplicationInstance, ApplicationInstanceSpec } from '../../../src/resources/application-instance.ts';
import type { HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import { anInstance, aNamespace, aPolicy, CLUSTER_ID } from '../manifests.ts';

/** The release of an instance, as the API server keeps it: who set which field. */
function released(instance: ApplicationInstance, manager: string = RELEASE_FIELD_MANAGER): HelmRelease {
  const release = desiredRelease(instance, aNamespace(), CLUSTER_ID);
  const fields = Object.fromEntries(Object.keys(release.spec).map((field) => [`f:${field}`, {}]));
  const managedFields = [{ manager, operation: 'Apply' as const, fieldsV1: { 'f:spec': fields } }];
  return { ...release, metadata: { ...release.metadata, managedFields } };
}

async function judge(was: Partial<ApplicationInstanceSpec>, is: Partial<ApplicationInstanceSpec>, manager?: string) {
  const instance = anInstance({ spec: is });
  const before = asReleased(instance, released(anInstance({ spec: was }), manager));
  const policy = aPolicy({ allowedNamespaces: ['shop', 'bank'] });
  const now = new Date('2026-01-01T00:00:00Z');
  const situation = { namespace: aNamespace(), policy, now, ...(before === undefined ? {} : { before }) };
  return (await policyVerdict(instance, situation))?.stalled;
}

describe('what was released once', () => {
  it('is the same instance where nothing was changed, a name or namespace that is the default included', async () => {
    expect(await judge({}, {})).toBeUndefined();
    expect(
      await judge({ releaseName: 'a', targetNamespace: 'bank' }, { releaseName: 'a', targetNamespace: 'bank' }),
    ).toBe(undefined);
    expect(await judge({}, { releaseName: 'podinfo', targetNamespace: 'shop' })).toBeUndefined();
  });

  it('does not move to another name or namespace, on a server without CEL either', async () => {
    const renamed = { reason: 'SpecInvalid', message: expect.stringContaining('releaseName cannot be changed') };
    const moved = { reason: 'SpecInvalid', message: expect.stringContaining('targetNamespace cannot be changed') };
    expect(await judge({}, { releaseName: 'b' })).toMatchObject(renamed);
    expect(await judge({ releaseName: 'a' }, {})).toMatchObject(renamed);
    expect(await judge({ targetNamespace: 'bank' }, {})).toMatchObject(moved);
    expect(await judge({}, { targetNamespace: 'bank' })).toMatchObject(moved);
  });

  it('is not what somebody else wrote into the release since: that is taken back', async () => {
    expect(await judge({ releaseName: 'by-hand' }, {}, 'kubectl-edit')).toBeUndefined();
  });

  it('is nothing where there is no release yet', async () => {
    expect(asReleased(anInstance(), undefined)).toBeUndefined();
  });
});
