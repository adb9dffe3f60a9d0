import type { KubeObject } from '../../resources/kube-object.ts';

/** On a Backup, a Restore or a BackupStorageLocation: how what is done with it ends. The object's own comes first. */
export const OUTCOME_ANNOTATION = 'sandbox.service.io/velero-outcome';
/** On a BackupStorageLocation: it cannot be reached (`"true"`). */
export const UNAVAILABLE_ANNOTATION = 'sandbox.service.io/velero-unavailable';

/** `Hold` leaves it InProgress until the annotation says something else. */
export const VELERO_OUTCOMES = ['Completed', 'PartiallyFailed', 'Failed', 'FailedValidation', 'Hold'] as const;
export type VeleroOutcome = (typeof VELERO_OUTCOMES)[number];

/** What the first of the objects that says anything says; else that all goes well. */
export function outcomeOf(...objects: readonly (KubeObject | undefined)[]): VeleroOutcome {
  const said = objects.map((object) => object?.metadata.annotations?.[OUTCOME_ANNOTATION]);
  return VELERO_OUTCOMES.find((outcome) => outcome === said.find((word) => word !== undefined)) ?? 'Completed';
}
