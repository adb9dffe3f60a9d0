import type { Kysely } from 'kysely';
import {
  credentialsOf,
  objectsLeftOf,
  probesOf,
  stepsOf,
  type CredentialChange,
  type ObjectLeft,
  type SwitchStep,
} from '../../modes/mode-switch.ts';
import { handoverCounts, NO_HANDOVERS, refusedHandovers } from '../../modes/switch-pages.ts';
import { waitingFor } from '../../modes/waiting-for.ts';
import type { SwitchProbe } from '../../push/switch-probe.ts';
import type { ClusterRow, Database, ModeSwitchRow } from '../../store/schema.ts';
import { ifKnown } from './cluster-view.ts';

/** A switch of mode as the admin API shows it. Times are RFC 3339. */
export interface SwitchView {
  readonly id: string;
  readonly clusterId: string;
  readonly clusterSlug: string;
  readonly from: ClusterRow['connectivity_mode'];
  readonly to: ClusterRow['connectivity_mode'];
  readonly state: ModeSwitchRow['state'];
  /** What is being done; differs from `state` while it rolls back. */
  readonly phase: ModeSwitchRow['phase'];
  readonly phaseSince: string;
  /** Behind the words "waiting for". */
  readonly waitingFor?: string;
  /** The delivery epoch under which the objects are handed over; absent before the old way is fenced off. */
  readonly epoch?: number;
  /** Why it rolls, or rolled, back. */
  readonly reason?: string;
  readonly steps: readonly SwitchStep[];
  readonly probes: readonly SwitchProbe[];
  /** One without `at` is still to come. */
  readonly credentials: readonly CredentialChange[];
  readonly objects: {
    readonly total: number;
    readonly delivered: number;
    readonly confirmed: number;
    readonly refused: readonly ObjectLeft[];
    readonly left: readonly ObjectLeft[];
  };
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly finishedAt?: string;
}

export interface SwitchViewDeps {
  readonly db: Kysely<Database>;
  readonly now: Date;
}

/** Switches of one cluster, in the order in which they are given. */
export async function viewSwitches(
  { db, now }: SwitchViewDeps,
  cluster: ClusterRow,
  rows: readonly ModeSwitchRow[],
): Promise<SwitchView[]> {
  const counts = await handoverCounts(
    db,
    rows.map(({ id }) => id),
  );
  return await Promise.all(
    rows.map(async (row) => {
      const count = counts.get(row.id) ?? NO_HANDOVERS;
      const refused = await refusedHandovers(db, row.id);
      const waits = await waitingFor(db, row, cluster, now);
      return {
        id: row.id,
        clusterId: cluster.id,
        clusterSlug: cluster.slug,
        from: row.from_mode,
        to: row.to_mode,
        state: row.state,
        phase: row.phase,
        phaseSince: row.phase_since,
        ...ifKnown('waitingFor', waits ?? null),
        ...ifKnown('epoch', row.epoch),
        ...ifKnown('reason', row.reason),
        steps: stepsOf(row),
        probes: probesOf(row),
        credentials: credentialsOf(row),
        objects: {
          ...count,
          refused: refused.map(({ target_kind: kind, namespace, name, reason }) => ({
            kind,
            namespace,
            name,
            reason: reason ?? 'no reason is on record',
          })),
          left: objectsLeftOf(row),
        },
        requestedBy: row.requested_by,
        requestedAt: row.requested_at,
        ...ifKnown('finishedAt', row.finished_at),
      };
    }),
  );
}

export async function viewSwitch(deps: SwitchViewDeps, cluster: ClusterRow, row: ModeSwitchRow): Promise<SwitchView> {
  const [view] = await viewSwitches(deps, cluster, [row]);
  if (view === undefined) throw new Error('one switch has one view');
  return view;
}
