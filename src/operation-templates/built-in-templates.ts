import type { BuiltInTemplate } from './built-in/built-in-template.ts';
import { releaseReconcile, releaseRollback } from './built-in/release.ts';
import { runJob } from './built-in/run-job.ts';
import { veleroBackup, veleroRestore } from './built-in/velero.ts';
import { rolloutRestart, scale } from './built-in/workload.ts';

/** The operation templates that every operator has. */
export const BUILT_IN_TEMPLATES = {
  'velero-backup': veleroBackup,
  'velero-restore': veleroRestore,
  'rollout-restart': rolloutRestart,
  scale,
  'release-rollback': releaseRollback,
  'release-reconcile': releaseReconcile,
  'run-job': runJob,
} as const satisfies Record<string, BuiltInTemplate>;
export type BuiltInTemplateName = keyof typeof BUILT_IN_TEMPLATES;

export function isBuiltInTemplate(name: string): name is BuiltInTemplateName {
  return Object.hasOwn(BUILT_IN_TEMPLATES, name);
}
