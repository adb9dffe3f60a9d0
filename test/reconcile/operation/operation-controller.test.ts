import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KubeError } from '../../../src/kube/cluster-api.ts';
import { Reason } from '../../../src/resources/reasons.ts';
import { setOperationStage, TEMPLATES, type OperationStage } from './stage.ts';

let stage: OperationStage;

beforeEach(async () => {
  stage = await setOperationStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const DONE = { state: 'succeeded', reason: Reason.JobCompleted, message: 'well\ndone' } as const;
const BAD = { state: 'failed', reason: Reason.JobFailed, message: 'it broke', isFinal: false } as const;
const messageOf = (
  operation: Awaited<ReturnType<OperationStage['until']>>,
  type: string = operation.status?.phase ?? '',
): string => operation.status?.conditions?.find((condition) => condition.type === type)?.message ?? '';

describe('an Operation', () => {
  it('runs once to its end, says each step once, and stays as it ended', async () => {
    await stage.start();
    await stage.deliver();
    const running = await stage.until('Running', Reason.OperationRunning);
    expect(running.status).toMatchObject({ attempts: 1, run: { template: 'run-job', retries: 0 } });
    expect(messageOf(running)).toBe('run-job runs, for at most 3600 s');
    stage.runner.become(DONE);
    const { status } = await stage.until('Succeeded', Reason.JobCompleted);
    expect(status?.conditions?.map(({ type, status: is, reason }) => `${type}=${is} ${reason}`)).toEqual([
      'Accepted=True OperationAccepted',
      'Blocked=False NotBlocked',
      'Running=False Finished',
      'Succeeded=True JobCompleted',
      'Failed=False NotReached',
      'Cancelled=False NotReached',
    ]);
    expect(status?.conditions?.find(({ type }) => type === 'Succeeded')?.message).toBe('well done');
    stage.runner.become({ ...BAD, isFinal: true });
    await stage.restart();
    await stage.deliver({}, { name: 'behind' });
    await stage.until('Failed', Reason.JobFailed, 'behind');
    expect((await stage.read())?.status).toEqual(status);
    expect(stage.runner.starts).toEqual(['job-1', 'behind-1']);
    expect(stage.events.slice(0, 2)).toEqual(['Normal OperationRunning', 'Normal JobCompleted']);
    expect(stage.told.slice(0, 3)).toEqual([
      'Accepted OperationAccepted',
      'Running OperationRunning',
      'Succeeded JobCompleted',
    ]);
  });

  it('is written down as running before it is started, and by a new operator goes on with the same try', async () => {
    let seen: unknown;
    stage.runner.beforeStart = () => {
      seen = stage.recording.writes.at(-1);
      throw new Error('killed');
    };
    await stage.start();
    await stage.deliver();
    const written = await stage.until('Running', Reason.OperationRunning);
    expect([seen, written.status?.begun]).toEqual(['apply Operation shop/job#status', undefined]);
    stage.runner.beforeStart = () => undefined;
    await stage.restart();
    await vi.waitFor(async () => expect((await stage.read())?.status?.begun).toBe(1), 30_000);
    await stage.restart();
    stage.runner.become(DONE);
    const { status } = await stage.until('Succeeded');
    expect([stage.runner.starts, status?.attempts, status?.startedAt]).toEqual([
      ['job-1'],
      1,
      written.status?.startedAt,
    ]);
  });

  it('is not made again when what it made is gone: nobody knows how it ended', async () => {
    await stage.start();
    await stage.deliver();
    await vi.waitFor(async () => expect((await stage.read())?.status?.begun).toBe(1), 30_000);
    stage.runner.tries.clear();
    stage.later(0);
    const failed = await stage.until('Failed', Reason.OperationLost);
    expect(messageOf(failed)).toBe('what try 1 had made is gone, so nobody can say how it ended');
    expect(stage.runner.starts).toEqual(['job-1']);
  });

  it('blocked by the policy begins once it is allowed, and the policy of later does not stop it', async () => {
    stage.policy = { ...stage.policy, operationTemplates: [] };
    await stage.start();
    await stage.deliver();
    const blocked = await stage.until('Blocked', Reason.TemplateNotAllowed);
    expect(messageOf(blocked)).toMatch(/^operation template run-job is not allowed on this cluster; allowed: none; /);
    stage.allow({ operationTemplates: TEMPLATES });
    await stage.until('Running', Reason.OperationRunning);
    stage.allow({ operationTemplates: [] });
    stage.runner.become(DONE);
    await stage.until('Succeeded');
    expect(stage.events).toEqual(['Warning TemplateNotAllowed', 'Normal OperationRunning', 'Normal JobCompleted']);
  });

  it('of a template that nobody knows, or with parameters that it does not take, is blocked with every fault', async () => {
    stage.policy = { ...stage.policy, operationTemplates: [...TEMPLATES, 'mystery'] };
    await stage.start();
    await stage.deliver({ template: 'mystery' }, { name: 'unknown' });
    await stage.deliver({ template: 'scale', parameters: { kind: 'DaemonSet', replicas: -1 } }, { name: 'wrong' });
    await stage.until('Blocked', Reason.TemplateNotSupported, 'unknown');
    const wrong = messageOf(await stage.until('Blocked', Reason.ParametersInvalid, 'wrong'));
    expect(
      ['/parameters/name', '/parameters/replicas', '/parameters/kind'].filter((path) => !wrong.includes(path)),
    ).toEqual([]);
    expect(stage.runner.starts).toEqual([]);
  });

  it('is judged by what its runner forbids, before anything is begun', async () => {
    stage.runner.violations = () => [{ reason: Reason.NamespaceNotAllowed, message: 'not into that namespace' }];
    await stage.start();
    await stage.deliver();
    expect(messageOf(await stage.until('Blocked', Reason.NamespaceNotAllowed))).toBe('not into that namespace');
    expect(stage.runner.starts).toEqual([]);
  });

  it('does not begin in a paused namespace, and is seen to its end there', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', name: 'shop' };
    const pause = async (value: string | null): Promise<void> => {
      const annotations = { 'ops.service.io/paused': value };
      await stage.cluster.api.mergePatch(namespace, { metadata: { annotations } });
    };
    await pause('true');
    await stage.start();
    await stage.deliver();
    const { status } = await stage.until('Blocked', Reason.Paused);
    expect(status?.conditions?.find(({ type }) => type === 'Accepted')).toMatchObject({ status: 'Unknown' });
    await pause(null);
    await stage.until('Running');
    await pause('true');
    stage.runner.become(DONE);
    await stage.until('Succeeded');
  });

  it('runs nothing that it may not write down', async () => {
    await stage.start();
    stage.recording.beforeWrite = ({ about }) => {
      if (!about.includes('#status')) return;
      const message =
        'operations.ops.service.io "job" is forbidden: User "x" cannot patch resource "operations/status"';
      throw new KubeError(message, { status: 403, reason: 'Forbidden' });
    };
    await stage.deliver();
    await vi.waitFor(() => expect(stage.told).toEqual(['Blocked NamespaceNotGranted']), 30_000);
    stage.recording.beforeWrite = () => undefined;
    stage.later(0);
    await stage.until('Running');
    expect(stage.runner.starts).toEqual(['job-1']);
  });

  it('that is deleted while it runs is let go of, and nothing is written of it any more', async () => {
    await stage.start();
    await stage.deliver();
    await stage.until('Running');
    await stage.cluster.api.delete({
      apiVersion: 'ops.service.io/v1alpha1',
      kind: 'Operation',
      namespace: 'shop',
      name: 'job',
    });
    await stage.untilGone();
    stage.recording.forget();
    await stage.deliver({}, { name: 'behind' });
    await stage.until('Running', undefined, 'behind');
    expect(stage.recording.writes.filter((write) => write.includes('shop/job'))).toEqual([]);
  });
});
