/** The operation templates that every operator has, with what each does. */
export const OPERATION_TEMPLATES = {
  'velero-backup': 'Back up a namespace or an application with Velero.',
  'velero-restore': 'Restore from a Velero backup.',
  'rollout-restart': 'Restart the pods of a workload one after the other.',
  scale: 'Set the number of replicas of a workload.',
  'release-rollback': 'Take an application back to an earlier release.',
  'release-reconcile': 'Have the release controller look at an application now.',
  'run-job': 'Run a Job from a named CronJob or template once.',
} as const satisfies Record<string, string>;
export type BuiltInOperationTemplate = keyof typeof OPERATION_TEMPLATES;

export function isBuiltInOperationTemplate(name: string): name is BuiltInOperationTemplate {
  return Object.hasOwn(OPERATION_TEMPLATES, name);
}
