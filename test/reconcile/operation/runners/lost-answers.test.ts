import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rolloutRestartRunner } from '../../../../src/reconcile/operation/runners/rollout-restart.ts';
import { runJobRunner } from '../../../../src/reconcile/operation/runners/run-job.ts';
import { scaleRunner } from '../../../../src/reconcile/operation/runners/scale.ts';
import type { Fault } from '../../../../src/sandbox/faults.ts';
import { startSandbox, type Sandbox } from '../../../../src/sandbox/start-sandbox.ts';
import { StatusError } from '../../../../src/sandbox/status-error.ts';
import { aDeployment, aRun, WorkloadWorld, wordsOf } from '../../../support/workload-contract/workload-world.ts';

const RUNNERS = { 'rollout-restart': rolloutRestartRunner, scale: scaleRunner, 'run-job': runJobRunner } as const;
type Name = keyof typeof RUNNERS;

describe.each(['rollout-restart', 'scale', 'run-job'] as const)('an operation of %s', (template: Name) => {
  let sandbox: Sandbox;
  let world: WorkloadWorld;
  const runner = RUNNERS[template];
  const writes = template === 'run-job' ? 'POST' : 'PATCH';

  beforeAll(async () => {
    world = await WorkloadWorld.start(async () => {
      sandbox = await startSandbox({ tls: false });
      const kubeconfig = sandbox.kubeconfig();
      return { kubeconfig, [Symbol.asyncDispose]: async () => await sandbox[Symbol.asyncDispose]() };
    });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  /** A try on a workload of its own, or of a Job. */
  const prepared = async (name: string) => {
    const parameters =
      template === 'run-job'
        ? { image: 'registry.test/tool:1', command: ['true'] }
        : { name, ...(template === 'scale' ? { replicas: 4 } : {}) };
    if (template !== 'run-job') await world.make(aDeployment(name));
    const run = aRun({ name, template, parameters });
    return { ...run, operation: await world.order(run.operation) };
  };
  /** What its first write comes to. */
  const onWrite = (name: string, fault: Omit<Fault, 'match'>) =>
    sandbox.faults.add({
      match: ({ method, path, userAgent }) =>
        method === writes && userAgent === 'workload-test' && (path.endsWith('/jobs') || path.endsWith(`/${name}`)),
      times: 1,
      ...fault,
    });
  const writesOf = (name: string): (() => number) => {
    let count = 0;
    sandbox.audit.listen(({ method, path, userAgent }) => {
      if (method !== writes || userAgent !== 'workload-test') return;
      if (path.endsWith('/jobs') || path.endsWith(`/${name}`)) count += 1;
    });
    return () => count;
  };

  it.each(['before', 'after'] as const)('whose write is cut %s it took effect has its effect once', async (cut) => {
    const name = `cut-${cut}`;
    const run = await prepared(name);
    const written = writesOf(name);
    onWrite(name, { cut });
    await expect(world.start(runner, run)).rejects.toMatchObject({ status: 0 });
    expect(await world.outcome(runner, run)).toMatch(/^succeeded /);
    expect(written()).toBe(1);
    // And begun again when it is over.
    expect(await world.outcome(runner, run)).toMatch(/^succeeded /);
    expect(written()).toBe(1);
  });

  it('that an admission webhook denies says so, and is not tried for ever', async () => {
    const name = 'denied';
    const run = await prepared(name);
    const message = 'admission webhook "policy.test" denied the request: not on Fridays';
    onWrite(name, { respond: new StatusError(403, 'Forbidden', message) });
    expect(await world.startOnce(runner, run)).toBe(
      `failed ApplyFailed (final): the API server does not take it: ${message}`,
    );
    expect(wordsOf(await world.observe(runner, run))).toBe('absent');
  });

  it('whose account may not write names the right, the command and the manifest', async () => {
    const name = 'forbidden';
    const run = await prepared(name);
    const [verb, resource, group] =
      template === 'run-job' ? ['create', 'jobs', 'batch'] : ['patch', 'deployments', 'apps'];
    const token = sandbox.users.add({ name: 'narrow', may: (asked) => asked.verb !== verb });
    const yaml = sandbox.kubeconfig().replace(sandbox.token.expose(), token.expose());
    const said = await world.as(yaml).startOnce(runner, run);
    expect(said).toMatch(
      new RegExp(
        `^failed NamespaceNotGranted \\(final\\): the operator may not ${verb} ${resource}\\.${group} in namespace shop; `,
      ),
    );
    expect(said).toContain("'servicectl namespaces add shop'");
  });
});
