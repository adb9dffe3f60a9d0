import { findCondition } from '../../../resources/conditions.ts';
import { ROLLBACK_ANNOTATION } from '../../../resources/labels.ts';
import { Reason } from '../../../resources/reasons.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import { asPinned, readPin } from '../rollback-pin.ts';

/** The cluster's keys are read when the operator starts. */
const KEYS_RETRY_MS = 1000;

/** What an operation took back stays so until the next intent; without the keys nothing is released, neither way. */
export async function applyRollback(pass: InstancePass): Promise<StepResult> {
  const { instance, policy, deps } = pass;
  const reading = readPin(instance, policy.clusterId, deps.keyRing?.());
  switch (reading.state) {
    case 'waiting':
      return { kind: 'done', requeueAfterMs: KEYS_RETRY_MS };
    case 'forged': {
      const ready = findCondition(instance.status?.conditions, 'Ready');
      if (ready?.status === 'True' && ready.reason === Reason.HelmReleaseRolledBack) {
        const message = `the annotation ${ROLLBACK_ANNOTATION} is not as this operator wrote it; what the spec says is released again`;
        deps.recorder?.record(instance, { type: 'Warning', reason: Reason.ReleaseNotRolledBack, message });
      }
      return NEXT;
    }
    case 'holds':
      pass.pinned = { pin: reading.pin, instance: asPinned(instance, reading.pin) };
      return NEXT;
    case 'none':
    case 'over':
      return NEXT;
  }
}
