import type { Kysely } from 'kysely';
import { Type, type Static } from 'typebox';
import { ConnectivityMode } from '../../../protocol/connectivity-mode.ts';
import type { LastContact } from '../../store/last-contact.ts';
import { applicationCounts, healthOf, NO_APPLICATIONS, type ApplicationCounts } from '../../store/cluster-health.ts';
import { labelsOf } from '../../store/cluster-labels.ts';
import type { ClusterRow, Database } from '../../store/schema.ts';
import { waitingOf, waitingText, type Waiting } from '../../store/waiting.ts';
import { answerOf, oneOf, Time } from '../openapi/answers.ts';
import { CLUSTER_STANDING } from './cluster-standing.ts';

/** A cluster in a list with `fields=summary`. */
export const ClusterSummaryAnswer = answerOf('ClusterSummaryAnswer', {
  id: Type.String(),
  slug: Type.String(),
  displayName: Type.String(),
  mode: ConnectivityMode,
  status: oneOf(['Pending', 'Active']),
  disabledAt: Type.Optional(Time),
  lastContactAt: Type.Optional(Time),
  operatorVersion: Type.Optional(Type.String()),
  ...CLUSTER_STANDING,
});
export type ClusterSummary = Static<typeof ClusterSummaryAnswer>;
export type ClusterStanding = Pick<ClusterSummary, keyof typeof CLUSTER_STANDING>;

/** What is told of each of the clusters beside its settings: two queries, however many there are. */
export async function clusterStandings(
  db: Kysely<Database>,
  rows: readonly ClusterRow[],
): Promise<(row: ClusterRow) => ClusterStanding> {
  const ids = rows.map(({ id }) => id);
  const [counts, waiting] = [await applicationCounts(db, ids), await waitingOf(db, ids)];
  return (row) => viewStanding(row, counts.get(row.id) ?? NO_APPLICATIONS, waiting.get(row.id));
}

function viewStanding(row: ClusterRow, counts: ApplicationCounts, waiting: Waiting | undefined): ClusterStanding {
  return {
    labels: labelsOf(row),
    health: healthOf(row, counts),
    ...(waiting === undefined
      ? {}
      : {
          waitingFor: {
            count: waiting.count,
            text: waitingText(waiting.oldest, row),
            intentId: waiting.oldest.id,
            since: waiting.oldest.accepted_at,
          },
        }),
    applications: counts,
  };
}

export function viewSummary(
  row: ClusterRow,
  standing: ClusterStanding,
  lastContact: Pick<LastContact, 'pending'>,
): ClusterSummary {
  const lastContactAt = lastContact.pending(row.id) ?? row.last_contact_at;
  return {
    id: row.id,
    slug: row.slug,
    displayName: row.display_name,
    mode: row.connectivity_mode,
    status: row.status,
    ...(row.disabled_at === null ? {} : { disabledAt: row.disabled_at }),
    ...(lastContactAt === null ? {} : { lastContactAt }),
    ...(row.operator_version === null ? {} : { operatorVersion: row.operator_version }),
    ...standing,
  };
}
