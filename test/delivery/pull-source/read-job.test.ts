import { describe, expect, it } from 'vitest';
import { readJob, type JobSurroundings } from '../../../src/delivery/pull/read-job.ts';
import { queuedJob } from '../../../src/delivery/pull/queued-job.ts';
import type { IntentRecord } from '../../../src/intent/intent-record.ts';
import { renderIntent } from '../../../src/intent/render.ts';
import type { Job } from '../../../src/protocol/job.ts';
import { withSignature } from '../../../src/resources/signed-object.ts';
import { aPolicy, anInstance, CHART_URL, CLUSTER_ID } from '../../reconcile/manifests.ts';

const around: JobSurroundings = { ...aPolicy({ mode: 'pull', deliveryEpoch: 3 }), keyRing: [] };
const chart = { type: 'oci', url: CHART_URL, name: 'podinfo' } as const;
const target = { clusterId: CLUSTER_ID, slug: 'eu', deliveryEpoch: 3 };

function aJob(change: Partial<Job>): Job {
  return {
    id: 'j1',
    kind: 'apply',
    idempotencyKey: 'applicationinstance/shop/podinfo@7',
    createdAt: '2026-03-01T10:00:00.000Z',
    expiresAt: '2026-03-02T10:00:00.000Z',
    ...change,
  };
}

function anIntent(change: Partial<IntentRecord> = {}): IntentRecord {
  return {
    intentVersion: 'v1alpha1',
    id: 'int-7',
    action: 'install',
    namespace: 'shop',
    name: 'podinfo',
    generation: 7,
    catalogEntry: 'podinfo',
    chartVersion: '6.5.0',
    values: { b: 2, a: { z: 1, y: 'text' } },
    requestedBy: 'someone',
    requestedAt: '2026-03-01T10:00:00.000Z',
    ...change,
  };
}

async function refusalOf(job: Job, surroundings = around): Promise<string> {
  const reading = await readJob(job, surroundings);
  return reading.kind === 'refused' ? reading.refusal.message : `not refused: ${reading.kind}`;
}

describe('a job of kind apply', () => {
  it('is its manifest, under the job’s id', async () => {
    const payload = anInstance({ source: '3.7' });
    expect(await readJob(aJob({ payload }), around)).toEqual({
      kind: 'object',
      item: { key: 'j1', object: payload },
      subject: {
        ref: {
          apiVersion: 'apps.service.io/v1alpha1',
          kind: 'ApplicationInstance',
          namespace: 'shop',
          name: 'podinfo',
        },
        pair: { epoch: 3, generation: 7 },
      },
      isSigned: false,
    });
  });

  it('takes its order and intent from the job where the manifest has none', async () => {
    const { annotations: _annotations, ...metadata } = anInstance().metadata;
    const job = aJob({ payload: { ...anInstance(), metadata }, deliveryEpoch: 2, intentId: 'int-5' });
    const reading = await readJob(job, around);
    expect(reading.kind === 'object' && reading.item.object.metadata.annotations).toEqual({
      'app.service.io/source': '2.7',
      'app.service.io/intent-id': 'int-5',
    });
  });

  it.each<[string, Partial<Job>, RegExp]>([
    ['without a payload', {}, /^the job carries neither payload nor encryptedPayload$/],
    ['with both', { payload: {}, encryptedPayload: 'x' }, /^the job carries both/],
    ['of another kind', { payload: { apiVersion: 'v1', kind: 'Secret' } }, /^payload: v1\/Secret is not taken/],
    ['with a status', { payload: { ...anInstance(), status: {} } }, /status/],
    ['over 512 KiB', { payload: anInstance({ spec: { values: { a: 'x'.repeat(600_000) } } }) }, /at most 524288 bytes/],
    ['that is no JWE', { encryptedPayload: 'nonsense' }, /cannot be decrypted \(malformed\)/],
  ])('%s is refused', async (_, change, message) => {
    expect(await refusalOf(aJob(change))).toMatch(message);
  });
});

describe('a job of kind delete', () => {
  it('is a tombstone of the pair and intent that the job names', async () => {
    const payload = {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'shop',
      name: 'a',
    };
    const job = aJob({ kind: 'delete', payload: { ...payload, uid: 'u1' }, deliveryEpoch: 3, intentId: 'int-9' });
    const reading = await readJob(job, around);
    expect(reading.kind === 'removal' && reading.removal).toEqual({
      key: 'j1',
      tombstone: { ...payload, uid: 'u1', intentId: 'int-9', epoch: 3, generation: 7, time: job.createdAt },
    });
  });

  it('that names no object is refused', async () => {
    expect(await refusalOf(aJob({ kind: 'delete', payload: { kind: 'Operation' } }))).toMatch(/apiVersion/);
  });
});

describe('a job of kind intent', () => {
  const wire = (record: IntentRecord, sign?: string): Job => {
    const inputs = { chart, defaultValues: { ui: { color: 'blue' }, b: 1 }, uid: 'u1' };
    const rendered = renderIntent(record, target, inputs);
    const signed =
      rendered.kind === 'apply' && sign !== undefined
        ? { ...rendered, object: withSignature(rendered.object, sign) }
        : rendered;
    const { payload, idempotencyKey } = queuedJob(signed, true);
    return aJob({
      kind: 'intent',
      payload: JSON.parse(payload) as Record<string, unknown>,
      idempotencyKey,
      deliveryEpoch: 3,
      intentId: record.id,
    });
  };

  it('is rendered to the very bytes that the control plane renders, default values and signature included', async () => {
    const record = anIntent();
    const there = renderIntent(record, target, { chart, defaultValues: { ui: { color: 'blue' }, b: 1 } });
    const reading = await readJob(wire(record, 'a..b'), around);
    const object = there.kind === 'apply' ? withSignature(there.object, 'a..b') : undefined;
    expect(reading.kind === 'object' && JSON.stringify(reading.item.object)).toBe(JSON.stringify(object));
  });

  it('to uninstall names the very object', async () => {
    const reading = await readJob(wire(anIntent({ action: 'uninstall' })), around);
    expect(reading.kind === 'removal' && reading.removal.tombstone).toMatchObject({
      uid: 'u1',
      intentId: 'int-7',
      epoch: 3,
      generation: 7,
    });
  });

  it('of a catalog entry that the cluster does not have is refused', async () => {
    const refusal = await refusalOf(wire(anIntent({ catalogEntry: 'nginx' })));
    expect(refusal).toBe('catalog entry nginx is not allowed for this cluster; allowed: podinfo');
  });
});

describe('the order of a job', () => {
  const reference = {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name: 'a',
  };
  const uninstall = { ...anIntent({ action: 'uninstall', generation: 5 }), source: '2.5' };

  it.each<[string, Partial<Job>]>([
    [
      'delete',
      { kind: 'delete', payload: { ...reference, source: '2.5' }, idempotencyKey: 'applicationinstance/shop/a@5' },
    ],
    ['intent', { kind: 'intent', payload: uninstall, idempotencyKey: 'intent/sha256-x' }],
    ['apply', { payload: anInstance({ source: '2.5' }), idempotencyKey: 'applicationinstance/shop/podinfo@5' }],
  ])('stands in the payload of kind %s, and what stands beside it may not say otherwise', async (_, change) => {
    const job = aJob({ ...change, deliveryEpoch: 2, generation: 5 });
    const reading = await readJob(job, around);
    expect(reading.kind === 'refused' ? reading.refusal : reading.subject.pair).toEqual({ epoch: 2, generation: 5 });
    // What sends an old one again as the newest.
    expect(await refusalOf({ ...job, deliveryEpoch: 3 })).toBe(
      "the payload is of 2.5, and the job's deliveryEpoch says 3",
    );
    expect(await refusalOf({ ...job, generation: 9 })).toBe("the payload is of 2.5, and the job's generation says 9");
  });

  it('is of the generation that its key names', async () => {
    const payload = { ...reference, source: '3.8' };
    expect(await refusalOf(aJob({ kind: 'delete', payload }))).toBe(
      "the payload is of 3.8, and the job's idempotencyKey says 7",
    );
    expect(await refusalOf(aJob({ payload: anInstance({ source: '3.8' }) }))).toBe(
      "the payload is of 3.8, and the job's idempotencyKey says 7",
    );
    expect(await refusalOf(aJob({ kind: 'intent', payload: { ...uninstall, source: '2.6' } }))).toBe(
      'the payload is of generation 5 and its source is 2.6',
    );
    expect(await refusalOf(aJob({ kind: 'delete', payload: reference, generation: 8 }))).toBe(
      "the payload is of 3.7, and the job's generation says 8",
    );
  });

  it('is of no epoch above the one of the configuration', async () => {
    const reading = await readJob(aJob({ kind: 'delete', payload: reference, deliveryEpoch: 4 }), around);
    expect(reading).toEqual({
      kind: 'refused',
      refusal: {
        message: "the job is of delivery epoch 4; the control plane's configuration says 3",
        isAhead: true,
      },
    });
  });
});

describe('chart values in the clear', () => {
  it('are refused where the cluster requires them encrypted, as manifest and as intent', async () => {
    const strict = { ...around, requireEncryptedSecretPayloads: true };
    const payload = anInstance({ source: '3.7', spec: { values: { password: 'hunter2' } } });
    const text = /^the payload holds chart values in the clear/;
    expect(await refusalOf(aJob({ payload }), strict)).toMatch(text);
    expect(await refusalOf(aJob({ kind: 'intent', payload: anIntent() }), strict)).toMatch(text);
    expect((await readJob(aJob({ payload: anInstance({ source: '3.7' }) }), strict)).kind).toBe('object');
  });
});
