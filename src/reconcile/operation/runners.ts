import { releaseReconcileRunner } from './runners/release-reconcile.ts';
import { releaseRollbackRunner } from './runners/release-rollback.ts';
import { rolloutRestartRunner } from './runners/rollout-restart.ts';
import { scaleRunner } from './runners/scale.ts';
import { runJobRunner } from './runners/run-job.ts';
import { veleroBackupRunner } from './runners/velero-backup.ts';
import { veleroRestoreRunner } from './runners/velero-restore.ts';
import type { TemplateRunner } from './template-runner.ts';

/** What this operator can run, one for each built-in template. */
export const TEMPLATE_RUNNERS: readonly TemplateRunner[] = [
  rolloutRestartRunner,
  scaleRunner,
  runJobRunner,
  veleroBackupRunner,
  veleroRestoreRunner,
  releaseReconcileRunner,
  releaseRollbackRunner,
];
