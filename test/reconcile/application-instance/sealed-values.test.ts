import { deepEqual } from 'node:assert/strict';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { encryptTo, generateEncryptionKeypair, type EncryptionKeypair } from '../../../src/protocol/jwe.ts';
import type { HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import type { KubeObject, ObjectRef } from '../../../src/resources/kube-object.ts';
import { CLUSTER_ID } from '../manifests.ts';
import type { Keys } from './operator.ts';
import { conditionsOf, release, setStage, type Stage } from './stage.ts';

const SECRET: ObjectRef = { apiVersion: 'v1', kind: 'Secret', namespace: 'shop', name: 'podinfo-sealed-values' };
const PASSWORD = 'hunter2-correct-horse';
interface SecretObject extends KubeObject {
  data?: Record<string, string>;
}

let stage: Stage;
let keypair: EncryptionKeypair;
let keys: Keys;

beforeEach(async () => {
  stage = await setStage();
  keypair = await generateEncryptionKeypair();
  keys = { ring: [keypair.privateJwk] };
  await stage.restart({ keys });
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

async function seal(values: unknown, { aud = `${CLUSTER_ID}/shop/podinfo`, to = keypair } = {}): Promise<string> {
  return await encryptTo(to.publicJwk, JSON.stringify(values), { aud });
}

async function readSecret(): Promise<Record<string, unknown>[]> {
  const secret = await stage.cluster.api.get<SecretObject>(SECRET);
  return Object.values(secret?.data ?? {}).map(
    (text) => JSON.parse(Buffer.from(text, 'base64').toString('utf8')) as Record<string, unknown>,
  );
}

async function readRelease(): Promise<HelmRelease> {
  const live = await stage.cluster.api.get<HelmRelease>(release);
  if (live === undefined) throw new Error('there is no release');
  return live;
}

describe('sealed values', () => {
  it('are opened into a Secret that the release reads, and win over a default in the same place', async () => {
    const sealedValues = await seal({ replicaCount: 3, auth: { password: PASSWORD } });
    await stage.deliver({ spec: { values: { replicaCount: -1, color: 'red' }, sealedValues } });
    // The sandbox's chart refuses a negative count: so it is the sealed one that counts.
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    const live = await readRelease();
    const [from] = live.spec.valuesFrom ?? [];
    expect(live.spec.values).toEqual({ color: 'red' });
    expect(from).toEqual({
      kind: 'Secret',
      name: 'podinfo-sealed-values',
      valuesKey: expect.stringMatching(/^values-[0-9a-f]{16}\.yaml$/),
    });
    const secret = await stage.cluster.api.get<SecretObject>(SECRET);
    expect(secret?.metadata.labels).toEqual({
      'app.service.io/managed-by': 'control-plane',
      'app.service.io/cluster-id': CLUSTER_ID,
      'app.service.io/application-instance': 'podinfo',
    });
    expect(Object.keys(secret?.data ?? {})).toEqual([from?.valuesKey]);
    await expect(readSecret()).resolves.toEqual([{ replicaCount: 3, auth: { password: PASSWORD } }]);
    const said = JSON.stringify([await stage.read(), live, stage.operator.reported, stage.operator.events]);
    expect(said).not.toContain(PASSWORD);
  });

  it('make the release controller act at once when they change, and cost no write when they do not', async () => {
    await stage.deliver({ spec: { sealedValues: await seal({ replicaCount: 2 }) } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    const sealedValues = await seal({ replicaCount: 4 });
    await stage.deliver({ source: '1.2', intentId: 'int-2', spec: { sealedValues } });
    const upgraded = await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
    expect(upgraded.status?.release?.revision).toBe(2);
    await expect(readSecret()).resolves.toEqual([{ replicaCount: 4 }]);
    await stage.restart({ keys });
    await stage.operator.reconciler.synced();
    await stage.cluster.sandbox.settled();
    expect(stage.operator.recording.writes).toEqual([]);
  });

  it('that are taken away leave the release first and then the Secret', async () => {
    const spec = { values: { replicaCount: 1 } };
    await stage.deliver({ spec: { ...spec, sealedValues: await seal({ replicaCount: 2 }) } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.deliver({ source: '1.2', intentId: 'int-2', spec });
    await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
    await stage.untilGone(SECRET);
    await vi.waitFor(async () => {
      const { metadata, spec: left } = await readRelease();
      deepEqual(
        [metadata.annotations?.['app.service.io/sealed-values-secret'], left.valuesFrom],
        [undefined, undefined],
      );
    }, 30_000);
  });

  it('go with the instance', async () => {
    await stage.deliver({ spec: { sealedValues: await seal({ replicaCount: 2 }) } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.uninstall();
    await stage.untilGone(release);
    await stage.untilGone(SECRET);
  });

  it('never touch a Secret of that name that is somebody else’s', async () => {
    const theirs = { apiVersion: 'v1', kind: 'Secret', metadata: { name: SECRET.name, namespace: 'shop' } };
    await stage.cluster.api.create({ ...theirs, data: { mine: 'eA==' } }, 'kubectl-create');
    await stage.deliver({ spec: { sealedValues: await seal({ replicaCount: 2 }) } });
    const live = await stage.until('int-1', 'Stalled', 'ReleaseNotOwned');
    expect(JSON.stringify(live.status)).toContain(
      'Secret shop/podinfo-sealed-values exists and was not made from this',
    );
    await stage.uninstall();
    await vi.waitFor(async () => deepEqual(await stage.cluster.api.get(release), undefined), 30_000);
    expect(await stage.cluster.api.get<SecretObject>(SECRET)).toMatchObject({ data: { mine: 'eA==' } });
    expect((await stage.cluster.api.get<SecretObject>(SECRET))?.data).toEqual({ mine: 'eA==' });
  });

  it('come back when somebody deletes the Secret and the release misses it', async () => {
    await stage.deliver({ spec: { sealedValues: await seal({ replicaCount: 2 }) } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.cluster.api.delete(SECRET);
    const annotations = { 'reconcile.fluxcd.io/requestedAt': 'now' };
    await stage.cluster.api.mergePatch(release, { metadata: { annotations } });
    await vi.waitFor(async () => deepEqual(await readSecret(), [{ replicaCount: 2 }]), { timeout: 30_000 });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  });

  it.each([
    [
      'are for another place',
      async () => await seal({ a: 1 }, { aud: `${CLUSTER_ID}/shop/other` }),
      'sealed for another place',
    ],
    [
      'are for another key',
      async () => await seal({ a: 1 }, { to: await generateEncryptionKeypair() }),
      'encrypted to key',
    ],
    ['were altered', async () => (await seal({ a: 1 })).replace(/.{4}$/, 'AAAA'), 'does not open'],
    ['are no JWE', async () => 'nonsense', 'not a compact JWE'],
    ['are not an object', async () => await seal([PASSWORD]), 'not a JSON object'],
  ])('that %s release nothing, and say once how to seal them anew', async (_, make, fault) => {
    await stage.deliver({ spec: { sealedValues: await make() } });
    const live = await stage.until('int-1', 'Stalled', 'SealedValuesNotOpened');
    expect(conditionsOf(live)).toMatchObject({ Ready: 'False SealedValuesNotOpened' });
    expect(JSON.stringify(live.status)).toContain('servicectl reseal CLUSTER --recovery-key FILE');
    expect(JSON.stringify([live.status, stage.operator.events])).not.toContain(PASSWORD);
    expect(await stage.cluster.api.get(release)).toBeUndefined();
    expect(await stage.cluster.api.get(SECRET)).toBeUndefined();
    expect(stage.operator.notOpened).toEqual([expect.stringContaining(fault)]);
    await stage.restart({ keys });
    await stage.operator.reconciler.synced();
    await stage.cluster.sandbox.settled();
    expect(stage.operator.notOpened).toEqual([]);
  });

  it('open with a retired key, and wait while the keys are not read yet', async () => {
    const next = await generateEncryptionKeypair();
    keys.ring = undefined;
    await stage.deliver({ spec: { sealedValues: await seal({ replicaCount: 2 }) } });
    await stage.operator.reconciler.synced();
    await stage.cluster.sandbox.settled();
    expect((await stage.read()).status).toBeUndefined();
    keys.ring = [next.privateJwk, keypair.privateJwk];
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  });
});
