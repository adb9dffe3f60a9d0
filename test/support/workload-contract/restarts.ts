import { describe, expect, it } from 'vitest';
import { rolloutRestartRunner } from '../../../src/reconcile/operation/runners/rollout-restart.ts';
import type { Workload } from '../../../src/reconcile/operation/runners/workload-target.ts';
import { BEHAVIOUR_ANNOTATION } from '../../../src/sandbox/workload-controller/steering.ts';
import {
  aDeployment,
  aRun,
  ownFields,
  STARTED,
  workload,
  type RunOptions,
  type WorkloadWorld,
} from './workload-world.ts';

const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';

function restart(options: RunOptions) {
  return aRun({ template: 'rollout-restart', ...options });
}

function restartedAt({ spec }: Workload): string | undefined {
  return spec?.template?.metadata?.annotations?.[RESTARTED_AT];
}

export function describeRestarts(world: () => WorkloadWorld): void {
  describe('a rollout restart', () => {
    it.each([
      ['Deployment', '2 pods restarted and available'],
      ['StatefulSet', '2 pods restarted and ready'],
      ['DaemonSet', '3 pods restarted and available'],
    ] as const)('replaces the pods of a %s once, however often it is begun', async (kind, said) => {
      const name = `re-${kind.toLowerCase()}`;
      const ref = await world().make(workload(kind, name));
      const run = restart({ parameters: { kind, name } });
      expect(await world().observe(rolloutRestartRunner, run)).toEqual({ state: 'absent' });
      expect(await world().outcome(rolloutRestartRunner, run)).toBe(
        `succeeded WorkloadRestarted: ${kind} ${name}: ${said}`,
      );
      const after = await world().read(ref);
      expect(restartedAt(after)).toBe(STARTED.toISOString());
      expect(after.metadata.generation).toBe(2);
      expect(ownFields(after)).toEqual([
        'metadata.annotations.ops.service.io/last-restart',
        'spec.template.metadata.annotations.kubectl.kubernetes.io/restartedAt',
      ]);
      expect(await world().start(rolloutRestartRunner, run)).toBeUndefined();
      expect((await world().read(ref)).metadata.resourceVersion).toBe(after.metadata.resourceVersion);
    });

    it('takes the target of the operation, and another operation restarts it anew', async () => {
      const ref = await world().make(aDeployment('re-again'));
      const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 're-again', namespace: 'shop' };
      const first = restart({ targetRef });
      const second = restart({ targetRef, uid: 'uid-b', startedAt: new Date(STARTED.getTime() + 1000) });
      expect(rolloutRestartRunner.violations?.(first)).toEqual([]);
      const said = 'succeeded WorkloadRestarted: Deployment re-again: 2 pods restarted and available';
      expect(await world().outcome(rolloutRestartRunner, first)).toBe(said);
      expect(await world().outcome(rolloutRestartRunner, second)).toBe(said);
      expect((await world().read(ref)).metadata.generation).toBe(3);
      // The earlier one, begun again late, does not restart what was restarted after it.
      expect(await world().outcome(rolloutRestartRunner, first)).toBe(said);
      expect((await world().read(ref)).metadata.generation).toBe(3);
    });

    it('believes no mark of a clock that is far ahead, nor one that somebody set', async () => {
      const marked = { 'ops.service.io/last-restart': '9999-01-01T00:00:00.000Z uid-z' };
      const ref = await world().make(aDeployment('re-ahead', { annotations: marked }));
      const run = restart({ parameters: { name: 're-ahead' } });
      expect(await world().outcome(rolloutRestartRunner, run)).toBe(
        'succeeded WorkloadRestarted: Deployment re-ahead: 2 pods restarted and available',
      );
      expect(restartedAt(await world().read(ref))).toBe(STARTED.toISOString());
    });

    it('waits for what does not come up, and fails where its controller gives it up', async () => {
      const ref = await world().make(aDeployment('re-stuck'));
      const run = restart({ parameters: { name: 're-stuck' } });
      await world().api.mergePatch(ref, { metadata: { annotations: { [BEHAVIOUR_ANNOTATION]: 'hangs' } } });
      await world().until(
        ref,
        ({ status }) => status?.availableReplicas === undefined || status.availableReplicas === 0,
      );
      expect(await world().start(rolloutRestartRunner, run)).toBeUndefined();
      // A Deployment's generation counts changes of annotations too.
      await world().until(ref, ({ status, metadata }) => status?.observedGeneration === metadata.generation);
      expect(await world().says(rolloutRestartRunner, run, 'running')).toBe(
        'running: Deployment re-stuck: 0 of 2 restarted pods are available',
      );
      await world().api.mergePatch(ref, { metadata: { annotations: { [BEHAVIOUR_ANNOTATION]: 'fails' } } });
      expect(await world().says(rolloutRestartRunner, run, 'failed')).toMatch(
        /^failed RolloutFailed \(final\): Deployment re-stuck: the rollout exceeded its progress deadline: ReplicaSet "re-stuck-\w+" has timed out progressing\.$/,
      );
    });

    it('says who took it out again, and does not begin it anew', async () => {
      const ref = await world().make(aDeployment('re-undone'));
      const run = restart({ parameters: { name: 're-undone' } });
      await world().outcome(rolloutRestartRunner, run);
      const annotations = { [RESTARTED_AT]: null };
      const patch = { spec: { template: { metadata: { annotations } } } };
      await world().api.mergePatch(ref, patch, { fieldManager: 'somebody' });
      expect(await world().outcome(rolloutRestartRunner, run)).toBe(
        'failed ChangeUndone (final): somebody took the restart of Deployment re-undone out of its pod template again; its field managers: helm-controller',
      );
      expect(restartedAt(await world().read(ref))).toBeUndefined();
    });

    it('refuses what nothing would come of: a paused Deployment, pods that are replaced by hand', async () => {
      await world().make(aDeployment('re-paused', { spec: { paused: true } }));
      await world().make(workload('DaemonSet', 're-hand', { spec: { updateStrategy: { type: 'OnDelete' } } }));
      expect(await world().start(rolloutRestartRunner, restart({ parameters: { name: 're-paused' } }))).toBe(
        'failed TargetNotSuited (final): Deployment re-paused is paused, so that no pod would be replaced; first: kubectl -n shop rollout resume deployment re-paused',
      );
      const byHand = restart({ parameters: { kind: 'DaemonSet', name: 're-hand' } });
      expect(await world().start(rolloutRestartRunner, byHand)).toBe(
        'failed TargetNotSuited (final): DaemonSet re-hand has the update strategy OnDelete: its pods are replaced only when somebody deletes them; set RollingUpdate to have it restarted',
      );
    });

    it('says what there is where its target is not, before and after it was begun', async () => {
      const ref = await world().make(workload('StatefulSet', 're-there'));
      const run = restart({ parameters: { kind: 'StatefulSet', name: 're-elsewhere' } });
      const there =
        /^failed TargetNotFound \(final\): StatefulSet re-elsewhere is not in namespace shop; there: .*re-there/;
      expect(await world().start(rolloutRestartRunner, run)).toMatch(there);
      const known = restart({ parameters: { kind: 'StatefulSet', name: 're-there' } });
      await world().outcome(rolloutRestartRunner, known);
      await world().api.delete(ref, { propagationPolicy: 'Background' });
      expect(await world().says(rolloutRestartRunner, known, 'failed')).toMatch(
        /^failed TargetNotFound \(final\): StatefulSet re-there is not in namespace shop/,
      );
    });

    it('works in its own namespace alone, by the version that it knows', () => {
      const targetRef = { apiVersion: 'apps/v1beta2', kind: 'Deployment', name: 'web', namespace: 'yard' };
      expect(rolloutRestartRunner.violations?.(restart({ targetRef }))).toEqual([
        {
          reason: 'SpecInvalid',
          message:
            'targetRef.namespace is yard: an operation works in its own namespace alone; make one in yard, or leave targetRef.namespace out',
        },
        {
          reason: 'SpecInvalid',
          message: 'targetRef.apiVersion is apps/v1beta2; a Deployment is worked on as apps/v1',
        },
      ]);
    });
  });
}
