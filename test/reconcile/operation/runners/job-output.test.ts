import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterApi } from '../../../../src/kube/cluster-api.ts';
import { connectCluster } from '../../../../src/kube/connect-cluster.ts';
import {
  jobOutput,
  newestPod,
  tail,
  waitingReason,
  type JobPod,
} from '../../../../src/reconcile/operation/runners/job-output.ts';
import { systemClock } from '../../../../src/runtime/clock.ts';
import type { Attributes } from '../../../../src/sandbox/authentication.ts';
import { startSandbox, type Sandbox } from '../../../../src/sandbox/start-sandbox.ts';
import { StatusError } from '../../../../src/sandbox/status-error.ts';
import { POD_LOG_ANNOTATION } from '../../../../src/sandbox/workload-controller/steering.ts';
import { aNamespace } from '../../manifests.ts';
import { logger } from '../../test-cluster.ts';

const signal = new AbortController().signal;
const LIMIT = 32 * 1024;
const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'report-1', namespace: 'shop', uid: 'uid-1' } };

function aPod(name: string, uid: string, said?: string): JobPod {
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'report-1', uid };
  const log = { [POD_LOG_ANNOTATION]: `of ${name}\n` };
  const labels = { 'job-name': 'report-1' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels, annotations: log, ownerReferences: [owner] },
    spec: { containers: [{ name: 'main' }] },
    status:
      said === undefined ? {} : { containerStatuses: [{ name: 'main', state: { terminated: { message: said } } }] },
  };
}

describe('the end of a long text', () => {
  it('is whole lines that fit, and says that it was cut', () => {
    const lines = Array.from({ length: 4000 }, (_, index) => `line ${index} äöü`);
    const kept = tail(`${lines.join('\n')}\n`);
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(LIMIT);
    expect(Buffer.byteLength(kept)).toBeGreaterThan(LIMIT - 100);
    expect(kept).toMatch(/^\[cut: only the end is kept\]\nline \d+ äöü\n/);
    expect(kept.endsWith('line 3999 äöü\n')).toBe(true);
  });

  it('of one line is that of its characters, none of them in two', () => {
    const kept = tail('ä'.repeat(LIMIT));
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(LIMIT);
    expect(kept).toMatch(/^\[cut: only the end is kept\]\nä+$/);
  });

  it('is all of it where that fits', () => {
    expect(tail('short\n')).toBe('short\n');
    expect(tail('x'.repeat(LIMIT))).toBe('x'.repeat(LIMIT));
  });
});

describe('what a job wrote', () => {
  let sandbox: Sandbox;
  let api: ClusterApi & AsyncDisposable;
  const connect = (may?: (asked: Attributes) => boolean) => {
    const token = may === undefined ? undefined : sandbox.users.add({ name: 'narrow', may });
    const yaml = sandbox.kubeconfig();
    const text = token === undefined ? yaml : yaml.replace(sandbox.token.expose(), token.expose());
    return connectCluster({
      kubeconfig: { kind: 'text', yaml: text },
      userAgent: 'job-output-test',
      clock: systemClock,
      random: () => 0,
    });
  };

  beforeAll(async () => {
    sandbox = await startSandbox({ tls: false });
    api = connect();
    await api.create(aNamespace('shop'), 'test');
    for (const pod of [aPod('own', 'uid-1'), aPod('foreign', 'uid-2')]) {
      // Without an owner that is there they would be collected at once.
      const { ownerReferences: _, ...metadata } = pod.metadata;
      await api.create({ ...pod, metadata }, 'test');
    }
  });
  afterAll(async () => {
    await api?.[Symbol.asyncDispose]();
    await sandbox?.[Symbol.asyncDispose]();
  });

  it('is the log of its pod, and of no other that carries its label', async () => {
    expect(await newestPod({ api, logger }, job, signal)).toBeUndefined();
    expect(await jobOutput({ api, logger }, aPod('own', 'uid-1'), signal)).toBe('of own\n');
  });

  it('is the termination message where the log may not be read, or its node does not answer', async () => {
    await using narrow = connect(({ subresource }) => subresource !== 'log');
    const pod = aPod('own', 'uid-1', 'the last words');
    expect(await jobOutput({ api: narrow, logger }, pod, signal)).toBe('the last words');
    expect(await jobOutput({ api: narrow, logger }, aPod('own', 'uid-1'), signal)).toBeUndefined();
    sandbox.faults.add({
      match: ({ path }) => path.endsWith('/log'),
      times: 1,
      respond: new StatusError(500, 'InternalError', 'dial tcp: no route to host'),
    });
    expect(await jobOutput({ api, logger }, pod, signal)).toBe('the last words');
    sandbox.faults.add({ match: ({ path }) => path.endsWith('/log'), times: 1, cut: 'before' });
    expect(await jobOutput({ api, logger }, pod, signal)).toBe('the last words');
    const left = AbortSignal.abort(new Error('stopping'));
    await expect(jobOutput({ api, logger }, pod, left)).rejects.toMatchObject({ reason: 'Aborted' });
  });

  it('is nothing where its pods may not be listed', async () => {
    await using narrow = connect(({ resource }) => resource !== 'pods');
    expect(await newestPod({ api: narrow, logger }, job, signal)).toBeUndefined();
  });
});

describe('a pod that does not come up', () => {
  it.each([
    [{ waiting: { reason: 'ImagePullBackOff', message: 'no such image' } }, 'ImagePullBackOff: no such image'],
    [{ waiting: { reason: 'CreateContainerConfigError' } }, 'CreateContainerConfigError'],
    [{ waiting: { reason: 'ContainerCreating' } }, undefined],
    [{}, undefined],
  ])('says why: %j', (state, said) => {
    const pod = { ...aPod('own', 'uid-1'), status: { containerStatuses: [{ name: 'main', state }] } };
    expect(waitingReason(pod)).toBe(said);
  });
});
