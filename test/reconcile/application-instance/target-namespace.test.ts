import { expect, it } from 'vitest';
import type { HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import { findCondition } from '../../../src/resources/conditions.ts';
import { aNamespace, aPolicy } from '../manifests.ts';
import { release, setStage } from './stage.ts';

const BANK = { apiVersion: 'v1', kind: 'Namespace', name: 'bank' };
const ELSEWHERE = { spec: { targetNamespace: 'bank' } };

it('an application goes into no other namespace that is not labelled for the operator, or that is paused', async () => {
  await using stage = await setStage();
  const { api } = stage.cluster;
  await api.apply(aNamespace('bank', { labels: {} }), { fieldManager: 'an-admin' });
  stage.operator.allow(aPolicy({ allowedNamespaces: ['shop', 'bank'] }));
  await stage.deliver(ELSEWHERE);
  const refused = await stage.until('int-1', 'Stalled', 'NamespaceNotLabelled');
  expect(findCondition(refused.status?.conditions, 'Stalled')?.message).toBe(
    'namespace bank is not labelled for the operator; a cluster admin runs: kubectl label namespace bank managed-by=service',
  );
  await expect(api.get(release)).resolves.toBeUndefined();

  await api.mergePatch(BANK, { metadata: { labels: { 'managed-by': 'service' } } });
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');

  await api.mergePatch(BANK, { metadata: { annotations: { 'ops.service.io/paused': 'true' } } });
  await stage.until('int-1', 'Reconciling', 'Paused');
  await stage.deliver({
    source: '1.2',
    intentId: 'int-2',
    version: '6.6.1',
    spec: { ...ELSEWHERE.spec, suspend: true },
  });
  const held = await stage.until('int-2', 'Reconciling', 'Paused');
  expect(findCondition(held.status?.conditions, 'Reconciling')?.message).toContain('on Namespace bank');
  expect((await api.get<HelmRelease>(release))?.spec.suspend).toBeUndefined();

  await api.mergePatch(BANK, { metadata: { annotations: { 'ops.service.io/paused': null } } });
  await stage.until('int-2', 'Ready', 'Suspended');
});
