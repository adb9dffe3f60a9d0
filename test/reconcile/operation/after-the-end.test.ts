import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KubeError } from '../../../src/kube/cluster-api.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { Reason } from '../../../src/resources/reasons.ts';
import { setOperationStage, type OperationStage } from './stage.ts';

let stage: OperationStage;

beforeEach(async () => {
  stage = await setOperationStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const done = (output?: string) =>
  ({
    state: 'succeeded',
    reason: Reason.JobCompleted,
    message: 'done',
    ...(output === undefined ? {} : { output }),
  }) as const;
const ref = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', namespace: 'shop', name: 'job' };
const mapRef = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name });
const mapOf = async (name: string): Promise<KubeObject | undefined> => await stage.cluster.api.get(mapRef(name));

describe('the time after the end', () => {
  it('begins with the end, and is over only once the end was told', async () => {
    let isReported = false;
    stage.options = { isReported: () => isReported };
    await stage.start();
    stage.runner.first = done('a line\n');
    await stage.deliver({ ttlSecondsAfterFinished: 60 });
    await stage.until('Succeeded');
    stage.later(59);
    await stage.deliver({}, { name: 'behind' });
    await stage.until('Succeeded', undefined, 'behind');
    stage.later(2);
    await vi.waitFor(() => expect(stage.recording.calls.length).toBeGreaterThan(0), 30_000);
    expect(await stage.read()).toBeDefined();
    isReported = true;
    stage.later(0);
    await stage.untilGone();
    // What it owns goes with it.
    await vi.waitFor(async () => expect(await mapOf('job-output')).toBeUndefined(), 30_000);
    expect(await stage.read('behind')).toBeDefined();
  });

  it('leaves a memory that outlives the operator, by which no delivery of it runs again', async () => {
    await stage.start();
    stage.runner.first = done();
    await stage.deliver({ ttlSecondsAfterFinished: 0 });
    await stage.untilGone();
    const writes = stage.recording.writes.filter((write) => !write.includes('#status'));
    expect([...new Set(writes.map((write) => write.replace(/^\w+ /, '')))]).toEqual([
      'ConfigMap service-system/service-operator-inventory',
      'Operation shop/job',
    ]);
    await stage.restart();
    expect(stage.inventory.lastPair(ref)).toEqual(expect.objectContaining({ epoch: 1, generation: 1 }));
    await stage.deliver({ ttlSecondsAfterFinished: 0 });
    const { status } = await stage.until('Blocked', Reason.StaleSource);
    expect(status?.conditions?.[1]?.message).toMatch(
      /^generation 1 of this operation was here before and was deleted at /,
    );
    await stage.deliver({ cancel: true }, { source: '1.2' });
    await stage.until('Failed', Reason.OperationLost);
    expect(stage.runner.starts).toEqual(['job-1']);
  });

  it('does not run out in a paused namespace', async () => {
    await stage.start();
    stage.runner.first = done();
    await stage.deliver({ ttlSecondsAfterFinished: 60 });
    await stage.until('Succeeded');
    await stage.patch({ metadata: { annotations: { 'ops.service.io/paused': 'true' } } });
    stage.later(61);
    await stage.deliver({}, { name: 'behind' });
    await stage.until('Succeeded', undefined, 'behind');
    expect(await stage.read()).toBeDefined();
    await stage.patch({ metadata: { annotations: { 'ops.service.io/paused': null } } });
    await stage.untilGone();
  });
});

describe('the output', () => {
  it('is kept beside the operation, owned by it', async () => {
    await stage.start();
    stage.runner.first = done('a line\n');
    await stage.deliver();
    const { status, metadata } = await stage.until('Succeeded');
    expect(status?.outputRef).toEqual(mapRef('job-output'));
    const map = await mapOf('job-output');
    expect(map?.['data']).toEqual({ output: 'a line\n' });
    expect(map?.metadata.ownerReferences).toEqual([
      { apiVersion: ref.apiVersion, kind: ref.kind, name: 'job', uid: metadata.uid },
    ]);
  });

  it('is cut to 32 KiB between two characters, and says so', async () => {
    await stage.start();
    stage.runner.first = done('é'.repeat(20_000));
    await stage.deliver();
    await stage.until('Succeeded');
    const output = String(((await mapOf('job-output'))?.['data'] as Record<string, string> | undefined)?.['output']);
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(32_768);
    expect(output).toMatch(/^é{16000,}\n\[cut: 40000 bytes in all\]\n$/);
  });

  it('leaves a ConfigMap of that name alone that is not its own', async () => {
    const theirs = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'job-output', namespace: 'shop' } };
    await stage.cluster.api.create({ ...theirs, data: { theirs: 'x' } }, 'kubectl');
    await stage.start();
    stage.runner.first = done('a line\n');
    await stage.deliver();
    const { status, metadata } = await stage.until('Succeeded');
    const name = `job-output-${metadata.uid?.slice(0, 8)}`;
    expect(status?.outputRef).toEqual(mapRef(name));
    expect((await mapOf(name))?.['data']).toEqual({ output: 'a line\n' });
    expect((await mapOf('job-output'))?.['data']).toEqual({ theirs: 'x' });
  });

  it('that the server will not have is said to be lost, and the operation ends as it did', async () => {
    await stage.start();
    stage.recording.beforeWrite = ({ about }) => {
      if (about === 'ConfigMap shop/job-output') throw new KubeError('no right', { status: 403, reason: 'Forbidden' });
    };
    stage.runner.first = done('a line\n');
    await stage.deliver();
    const { status } = await stage.until('Succeeded');
    expect(status?.conditions?.find(({ type }) => type === 'Succeeded')?.message).toBe(
      'done; its output is not kept: no right',
    );
  });
});
