import { describe, expect, it } from 'vitest';
import { scaleRunner } from '../../../src/reconcile/operation/runners/scale.ts';
import { BEHAVIOUR_ANNOTATION } from '../../../src/sandbox/workload-controller/steering.ts';
import { aDeployment, aRun, STARTED, workload, type WorkloadWorld } from './workload-world.ts';

const LATER = new Date(STARTED.getTime() + 1000);

export function describeScaling(world: () => WorkloadWorld): void {
  describe('scaling', () => {
    it.each([
      ['Deployment', 3, '3 replicas, all ready'],
      ['Deployment', 0, '0 replicas, all ready'],
      ['StatefulSet', 1, '1 replica, all ready'],
    ] as const)('gives a %s %i replicas, and says who had set them', async (kind, replicas, said) => {
      const name = `sc-${kind.toLowerCase()}-${replicas}`;
      const ref = await world().make(workload(kind, name));
      const run = aRun({ parameters: { kind, name, replicas } });
      expect(await world().observe(scaleRunner, run)).toEqual({ state: 'absent' });
      expect(await world().outcome(scaleRunner, run)).toBe(
        `succeeded WorkloadScaled: ${kind} ${name}: ${said}; the number was set by field manager "helm-controller" before, which may set it again`,
      );
      const after = await world().read(ref);
      expect(after.spec?.replicas).toBe(replicas);
      expect(after.metadata.generation).toBe(2);
      expect(await world().start(scaleRunner, run)).toBeUndefined();
      expect((await world().read(ref)).metadata.resourceVersion).toBe(after.metadata.resourceVersion);
    });

    it('waits until all are ready, and says why they are not', async () => {
      await world().make(aDeployment('sc-stuck', { annotations: { [BEHAVIOUR_ANNOTATION]: 'fails' } }));
      const run = aRun({ parameters: { name: 'sc-stuck', replicas: 4 } });
      expect(await world().start(scaleRunner, run)).toBeUndefined();
      await world().until(
        { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'sc-stuck' },
        (seen) => {
          return seen.status?.observedGeneration === 2;
        },
      );
      expect(await world().says(scaleRunner, run, 'running')).toMatch(
        /^running: Deployment sc-stuck: 0 of 4 replicas ready, 4 there; ReplicaSet "sc-stuck-\w+" has timed out progressing\.$/,
      );
    });

    it('is not done again over who set another number meanwhile, and names them', async () => {
      const ref = await world().make(aDeployment('sc-undone'));
      const run = aRun({ parameters: { name: 'sc-undone', replicas: 5 } });
      await world().start(scaleRunner, run);
      await world().api.mergePatch(ref, { spec: { replicas: 2 } }, { fieldManager: 'helm-controller' });
      expect(await world().outcome(scaleRunner, run)).toBe(
        'failed ChangeUndone (final): field manager "helm-controller" set Deployment sc-undone to 2 after this operation had set 5; ' +
          'change it where that is decided: a HorizontalPodAutoscaler, the values of a release',
      );
      expect((await world().read(ref)).spec?.replicas).toBe(2);
    });

    it('of two at once gives way to the one that began later, whichever comes first', async () => {
      for (const order of ['earlier', 'later'] as const) {
        const name = `sc-two-${order}`;
        const ref = await world().make(aDeployment(name));
        const earlier = aRun({ parameters: { name, replicas: 3 } });
        const later = aRun({ parameters: { name, replicas: 7 }, uid: 'uid-b', startedAt: LATER });
        const both = [earlier, later];
        for (const run of order === 'earlier' ? both : both.toReversed()) await world().start(scaleRunner, run);
        expect(await world().outcome(scaleRunner, later)).toContain(`Deployment ${name}: 7 replicas, all ready`);
        expect(await world().outcome(scaleRunner, earlier)).toBe(
          `failed ChangeUndone (final): an operation that began later has scaled Deployment ${name} to 7`,
        );
        expect((await world().read(ref)).spec?.replicas).toBe(7);
      }
    });

    it('says what there is where its target is not', async () => {
      await world().make(aDeployment('sc-there'));
      const run = aRun({ parameters: { name: 'sc-elsewhere', replicas: 1 } });
      expect(await world().start(scaleRunner, run)).toMatch(
        /^failed TargetNotFound \(final\): Deployment sc-elsewhere is not in namespace shop; there: .*sc-there/,
      );
    });

    it('hands on what the server has against it as the end of the try', async () => {
      await world().make(aDeployment('sc-invalid'));
      const run = aRun({ parameters: { name: 'sc-invalid', replicas: -1 } });
      // The parameters would not have passed; the sandbox judges no spec of a Deployment.
      if (world().server.settled !== undefined) return;
      expect(await world().start(scaleRunner, run)).toMatch(
        /^failed ApplyFailed \(final\): the API server does not take it: .*must be greater than or equal to 0/,
      );
    });
  });
}
