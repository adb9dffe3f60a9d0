import { writesArePaused } from '../../write-checks.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';

/** Paused stops every write, that of the status included: the Cluster's `Synced` and the annotation itself tell of it. */
export async function checkPaused({ policy, namespace, instance }: InstancePass): Promise<StepResult> {
  return writesArePaused(policy, namespace, instance) === undefined ? NEXT : { kind: 'done' };
}
