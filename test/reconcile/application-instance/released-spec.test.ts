import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { NO_APPROVALS } from '../../../src/policy/cluster-policy.ts';
import { releasableHash } from '../../../src/policy/approvable-hashes.ts';
import { generateSigningKey } from '../../../src/protocol/signing-key.ts';
import { RELEASE_FIELD_MANAGER } from '../../../src/reconcile/application-instance/owned-meta.ts';
import type { HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { approvedInstance, controlPlaneKey } from '../../policy/signed-approval.ts';
import { anInstance, aPolicy } from '../manifests.ts';
import { instance, release, setStage, type Stage } from './stage.ts';

const NOW = Math.floor(Date.now() / 1000);
const [FIRST, SECOND] = [{ replicaCount: 1 }, { replicaCount: 2 }];
const NOTE = 'app.service.io/released-spec';
const [KEY, OTHER_KEY] = [new Secret('{"d":"first"}'), new Secret('{"d":"second"}')];
/** With it no statement that was given before counts any more. */
const LATER_KEY = generateSigningKey();

let stage: Stage;

beforeEach(async () => {
  stage = await setStage();
  await stage.restart({ keys: { ring: [KEY] } });
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

function asking(key = controlPlaneKey) {
  return aPolicy({ signingKeys: [key.publicJwk], approvals: { ...NO_APPROVALS, catalogEntries: ['podinfo'] } });
}

async function deliver(object: KubeObject): Promise<void> {
  await stage.cluster.api.apply(object, { fieldManager: 'service-operator', force: true });
}

async function standApproved(): Promise<void> {
  stage.operator.allow(asking());
  const wanted = anInstance({ spec: { values: FIRST } });
  await deliver(await approvedInstance(wanted, { iat: NOW - 60, exp: NOW + 3600 }));
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
}

async function live(): Promise<HelmRelease | undefined> {
  return await stage.cluster.api.get<HelmRelease>(release);
}

async function noteOf(): Promise<string> {
  return (await live())?.metadata.annotations?.[NOTE] ?? '';
}

function readyNow(): Readonly<Record<string, unknown>> {
  const lastTransitionTime = new Date().toISOString();
  const ready = { type: 'Ready', status: 'True', reason: 'HelmReleaseReady', message: '', observedGeneration: 1 };
  return { observedGeneration: 1, conditions: [{ ...ready, lastTransitionTime }] };
}

it('is not taken from a status that somebody wrote while nobody was asked about it', async () => {
  await stage.operator[Symbol.asyncDispose]();
  const wanted = anInstance({ spec: { values: FIRST } });
  await deliver(wanted);
  const forged = { ...readyNow(), releasedSpec: `${releasableHash(wanted.spec)}.${'A'.repeat(43)}` };
  const options = { subresource: 'status', fieldManager: 'kubectl' } as const;
  await stage.cluster.api.mergePatch(instance, { status: forged }, options);
  await stage.restart({ keys: { ring: [KEY] } });
  stage.operator.allow(asking());
  const held = await stage.until('int-1', 'Stalled', 'ApprovalMissing');
  expect(JSON.stringify(held.status)).toContain('carries no seal of this operator');
  expect(await live()).toBeUndefined();
});

it('is not taken from a HelmRelease that somebody wrote in the name of the operator', async () => {
  await standApproved();
  await stage.cluster.api.mergePatch(instance, { spec: { values: SECOND } }, { fieldManager: 'kubectl' });
  await stage.until('int-1', 'Stalled', 'ApprovalInvalid');
  const [, seal] = (await noteOf()).split('.');
  const specHash = releasableHash((await stage.read()).spec);
  for (const note of [specHash, `${specHash}.${seal}`]) {
    const annotations = { [NOTE]: note };
    await stage.cluster.api.mergePatch(release, { metadata: { annotations } }, { fieldManager: RELEASE_FIELD_MANAGER });
    await stage.restart({ keys: { ring: [KEY] } });
    stage.operator.allow(asking());
    await vi.waitFor(
      async () => expect(JSON.stringify((await stage.read()).status)).toContain('is for another spec'),
      30_000,
    );
    expect((await live())?.spec.values).toEqual(FIRST);
  }
});

it('is known of a release that failed and that somebody deleted then, after its approval has ended', async () => {
  await standApproved();
  await vi.waitFor(async () => expect((await stage.read()).status?.releasedSpec).toBeDefined(), 30_000);
  await stage.flux[Symbol.asyncDispose]();
  const { metadata, status } = (await stage.cluster.api.get<KubeObject & { status?: object }>(release)) ?? {};
  const failed = { type: 'Ready', status: 'False', reason: 'UpgradeFailed', message: 'a node is away' };
  const condition = {
    ...failed,
    observedGeneration: metadata?.generation,
    lastTransitionTime: new Date().toISOString(),
  };
  const options = { subresource: 'status', fieldManager: 'helm-controller' } as const;
  await stage.cluster.api.mergePatch(release, { status: { ...status, conditions: [condition] } }, options);
  await vi.waitFor(async () => {
    const ready = (await stage.read()).status?.conditions?.find(({ type }) => type === 'Ready');
    expect(ready?.status).toBe('False');
  }, 30_000);
  stage.operator.allow(asking(LATER_KEY));
  await stage.cluster.api.mergePatch(release, { metadata: { finalizers: null } }, { fieldManager: 'kubectl' });
  await stage.cluster.api.delete(release);
  await vi.waitFor(async () => {
    const again = await live();
    expect([again?.spec.values, again?.metadata.uid === metadata?.uid]).toEqual([FIRST, false]);
  }, 8000);
});

it('is held where the keys of then are lost: what runs stays, and it is said what to do', async () => {
  await standApproved();
  const before = await live();
  await stage.restart({ keys: { ring: [OTHER_KEY] } });
  stage.operator.allow(asking(LATER_KEY));
  const held = await stage.until('int-1', 'Stalled', 'ApprovalInvalid');
  expect(JSON.stringify(held.status)).toContain('the keypair of the cluster was lost since');
  expect(JSON.stringify(held.status)).toContain('ask for it anew');
  expect((await live())?.metadata.uid).toBe(before?.metadata.uid);
  await stage.restart({ keys: { ring: [KEY] } });
  stage.operator.allow(asking(LATER_KEY));
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
});

it('is sealed by the present key while that before it is still there', async () => {
  await standApproved();
  const before = await noteOf();
  await stage.restart({ keys: { ring: [OTHER_KEY, KEY] } });
  stage.operator.allow(asking(LATER_KEY));
  await vi.waitFor(async () => expect(await noteOf()).not.toBe(before), 30_000);
  await vi.waitFor(async () => expect((await stage.read()).status?.conditions?.length).toBeGreaterThan(0), 30_000);
  await stage.restart({ keys: { ring: [OTHER_KEY] } });
  stage.operator.allow(asking(LATER_KEY));
  await stage.cluster.api.mergePatch(release, { spec: { values: SECOND } }, { fieldManager: 'kubectl' });
  await vi.waitFor(async () => expect((await live())?.spec.values).toEqual(FIRST), 30_000);
});

it('is noted of what an earlier version of the operator released where no approval is needed', async () => {
  await deliver(anInstance({ spec: { values: FIRST } }));
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  await stage.operator[Symbol.asyncDispose]();
  const unnoted = { metadata: { annotations: { [NOTE]: null } } };
  await stage.cluster.api.mergePatch(release, unnoted, { fieldManager: RELEASE_FIELD_MANAGER });
  const options = { subresource: 'status', fieldManager: 'service-operator-status' } as const;
  await stage.cluster.api.mergePatch(instance, { status: { releasedSpec: null } }, options);
  await stage.restart({ keys: { ring: [KEY] } });
  await vi.waitFor(async () => expect(await noteOf()).toMatch(/^sha256-[\w-]{43}\.[\w-]{43}$/), 30_000);
  stage.operator.allow(asking());
  await stage.cluster.api.mergePatch(release, { spec: { values: SECOND } }, { fieldManager: 'kubectl' });
  await vi.waitFor(async () => expect((await live())?.spec.values).toEqual(FIRST), 30_000);
});

it('waits for the keys where an approval is needed, and says nothing before', async () => {
  await standApproved();
  await stage.operator[Symbol.asyncDispose]();
  const before = await stage.read();
  const keys: { ring: readonly Secret[] | undefined } = { ring: undefined };
  await stage.restart({ keys });
  stage.operator.allow(asking(LATER_KEY));
  await stage.cluster.api.mergePatch(release, { spec: { values: SECOND } }, { fieldManager: 'kubectl' });
  await vi.waitFor(async () => expect((await live())?.spec.values).toEqual(SECOND), 30_000);
  expect((await stage.read()).status).toEqual(before.status);
  keys.ring = [KEY];
  await vi.waitFor(async () => expect((await live())?.spec.values).toEqual(FIRST), 8000);
});
