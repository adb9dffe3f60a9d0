import { afterEach, beforeEach, expect, it } from 'vitest';
import type { HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import { anInstance, aPolicy } from '../manifests.ts';
import { controlPlaneKey } from '../../policy/signed-approval.ts';
import { signed } from '../../policy/signed-instance.ts';
import { conditionsOf, instance, release, setStage, type Stage } from './stage.ts';

const policy = aPolicy({ signingKeys: [controlPlaneKey.publicJwk] });
let stage: Stage;

beforeEach(async () => {
  stage = await setStage();
  stage.operator.allow(policy);
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

async function deliver(source: string, intentId: string, replicaCount: number): Promise<void> {
  const manifest = await signed(anInstance({ source, intentId, spec: { values: { replicaCount } } }));
  await stage.cluster.api.apply(manifest, { fieldManager: 'service-operator', force: true });
}

async function editByHand(replicaCount: number): Promise<void> {
  await stage.cluster.api.mergePatch(
    instance,
    { spec: { values: { replicaCount } } },
    { fieldManager: 'kubectl-edit' },
  );
}

async function released(): Promise<unknown> {
  return (await stage.cluster.api.get<HelmRelease>(release))?.spec.values;
}

it('an edit by hand counts where signatures are not required, and is warned of once', async () => {
  await deliver('1.1', 'int-1', 1);
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  expect(stage.operator.events.filter((event) => event.includes('Signature'))).toEqual([]);
  await editByHand(5);
  await stage.until('int-1', 'Ready', 'HelmReleaseUpgraded');
  await expect(released()).resolves.toEqual({ replicaCount: 5 });
  const warned = stage.operator.events.filter((event) => event.includes('Signature'));
  expect(warned).toEqual([
    expect.stringMatching(/^Warning SignatureInvalid: its signature is not good: .*all the same/),
  ]);
});

it('an edit by hand releases nothing where they are required, and what was delivered anew goes on', async () => {
  stage.operator.allow({ ...policy, requireSignedPayloads: true });
  await deliver('1.1', 'int-1', 1);
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  await editByHand(5);
  const live = await stage.until('int-1', 'Stalled', 'SignatureInvalid');
  expect(conditionsOf(live)).toMatchObject({ Ready: 'False SignatureInvalid' });
  expect(JSON.stringify(live.status)).toContain('deliver it anew with an update intent');
  await expect(released()).resolves.toEqual({ replicaCount: 1 });
  await deliver('1.2', 'int-2', 3);
  await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
  await expect(released()).resolves.toEqual({ replicaCount: 3 });
});

it('an object that a person made is let be, and not warned of, until signatures are required', async () => {
  const { labels: _labels, annotations: _annotations, ...metadata } = anInstance().metadata;
  await stage.cluster.api.apply({ ...anInstance(), metadata }, { fieldManager: 'kubectl' });
  await expect
    .poll(async () => conditionsOf(await stage.read())['Ready'], { timeout: 30_000 })
    .toBe('True HelmReleaseReady');
  expect(stage.operator.events.filter((event) => event.includes('Signature'))).toEqual([]);
  stage.operator.allow({ ...policy, requireSignedPayloads: true });
  await expect
    .poll(async () => conditionsOf(await stage.read())['Stalled'], { timeout: 30_000 })
    .toBe('True SignatureMissing');
});
