import type { DesiredSet } from '../delivery/delivery.ts';
import type { KubeEventRecorder } from '../kube/kube-event-recorder.ts';
import type { ApplyReport } from '../reconcile/apply-report.ts';
import { grantCondition } from '../reconcile/cluster/grant-condition.ts';
import { syncConditions } from '../reconcile/cluster/sync-conditions.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import type { Cluster } from '../resources/cluster.ts';
import { findCondition, isTrue } from '../resources/conditions.ts';
import { Reason } from '../resources/reasons.ts';
import type { ClusterStatusWriter } from './cluster-status.ts';
import type { ControllerHealth } from './controller-health.ts';
import type { CoreDeps } from './core.ts';

export interface CoreReportsDeps {
  readonly status: ClusterStatusWriter;
  readonly health: ControllerHealth;
  readonly recorder: KubeEventRecorder;
  readonly cluster: () => Cluster;
  readonly policy: () => ClusterPolicy;
}

/** How the `Cluster` resource shows what the core comes to. */
export function coreReports(
  deps: CoreReportsDeps,
): Pick<CoreDeps, 'onRead' | 'onReport' | 'onRewritten' | 'onCopy' | 'onFault' | 'onGrants'> {
  const { status, health, recorder, cluster, policy } = deps;
  return {
    // A set that brings only a fault names no revision that was read.
    onRead: ({ revision }) => {
      if (revision !== undefined) status.change({ attemptedRevision: revision });
    },
    onReport: (report: ApplyReport, set: DesiredSet) => {
      const conditions = syncConditions(report);
      const whole = set.scope === 'complete' && isTrue([...conditions], 'Synced');
      if (whole && report.revision !== undefined) status.change({ appliedRevision: report.revision });
      // What was named as kept is not taken back by what is not known now.
      const isNamed = isTrue([...status.conditions], 'RemovedWithoutTombstone');
      status.setConditions(conditions.filter((condition) => !isNamed || condition.status !== 'Unknown'));
    },
    onRewritten: (message) => {
      recorder.record(cluster(), { type: 'Warning', reason: 'SourceHistoryRewritten', message });
      status.setConditions([
        { type: 'SourceHistoryRewritten', status: 'True', reason: Reason.HistoryRewritten, message },
      ]);
    },
    // That all is as it should be is worth a condition only where it was not.
    onCopy: (condition) => {
      const isTold = findCondition(status.conditions, condition.type) !== undefined;
      if (isTold || condition.status === 'False') status.setConditions([condition]);
    },
    onFault: (what, fault) => health.note(what, fault),
    onGrants: (grants) => {
      const condition = grantCondition(grants, policy().allowedNamespaces);
      if (condition !== undefined) status.setConditions([condition]);
    },
  };
}
