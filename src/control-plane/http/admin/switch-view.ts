import type { Kysely } from 'kysely';
import { Type, type Static } from 'typebox';
import { ConnectivityMode } from '../../../protocol/connectivity-mode.ts';
import {
  CredentialChange,
  credentialsOf,
  ObjectLeft,
  objectsLeftOf,
  probesOf,
  stepsOf,
  SwitchStep,
} from '../../modes/mode-switch.ts';
import { handoverCounts, NO_HANDOVERS, refusedHandovers } from '../../modes/switch-pages.ts';
import { waitingFor } from '../../modes/waiting-for.ts';
import { SwitchProbe } from '../../push/switch-probe.ts';
import { SWITCH_PHASES, SWITCH_STATES } from '../../store/mode-rows.ts';
import type { ClusterRow, Database, ModeSwitchRow } from '../../store/schema.ts';
import { answerOf, listOf, oneOf, Time } from '../openapi/answers.ts';
import { ifKnown } from './cluster-view.ts';

/** A switch of mode as the admin API shows it. */
export const SwitchAnswer = answerOf('SwitchAnswer', {
  id: Type.String(),
  clusterId: Type.String(),
  clusterSlug: Type.String(),
  from: ConnectivityMode,
  to: ConnectivityMode,
  state: oneOf(SWITCH_STATES),
  /** What is being done; differs from `state` while it rolls back. */
  phase: oneOf(SWITCH_PHASES),
  phaseSince: Time,
  waitingFor: Type.Optional(Type.String({ description: 'behind the words "waiting for"' })),
  epoch: Type.Optional(
    Type.Integer({
      description:
        'the delivery epoch under which the objects are handed over; absent before the old way is fenced off',
    }),
  ),
  reason: Type.Optional(Type.String({ description: 'why it rolls, or rolled, back' })),
  steps: listOf(SwitchStep),
  probes: listOf(SwitchProbe),
  /** One without `at` is still to come. */
  credentials: listOf(CredentialChange),
  objects: Type.Object({
    total: Type.Integer(),
    delivered: Type.Integer(),
    confirmed: Type.Integer(),
    refused: listOf(ObjectLeft),
    left: listOf(ObjectLeft),
  }),
  requestedBy: Type.String(),
  requestedAt: Time,
  finishedAt: Type.Optional(Time),
});
export type SwitchView = Static<typeof SwitchAnswer>;

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
