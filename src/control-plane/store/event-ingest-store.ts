import type { Insertable, Kysely } from 'kysely';
import type { IngestStore } from '../../events/ingest/ingest-store.ts';
import { tellChannel } from '../channel/tell-channel.ts';
import { auditRow } from './audit.ts';
import { bulkInsert } from './bulk-insert.ts';
import { noteChange, type ChangeResource } from './changes.ts';
import { setAppliedRevision } from './clusters.ts';
import { recordEvents } from './events.ts';
import { findIntentSnapshots, moveIntentRows } from './intent-progress.ts';
import { noteObserved } from './note-observed.ts';
import { foldConditions } from './resource-conditions.ts';
import type { AuditRow, ClusterRow, Database } from './schema.ts';

type NewAudit = Omit<Insertable<AuditRow>, 'id'>;

const insertAudit = bulkInsert<NewAudit>(
  [
    'organization_id',
    'at',
    'source',
    'kind',
    'cluster_id',
    'actor',
    'summary',
    'reason',
    'event_seq',
    'resource_ref',
    'intent_id',
  ],
  (trx, rows) => trx.insertInto('audit').values(rows),
);

/** What ingest needs of the database, for one cluster and inside one transaction. */
export function eventIngestStore(
  trx: Kysely<Database>,
  cluster: Pick<ClusterRow, 'id' | 'organization_id' | 'slug'>,
  receivedAt: string,
): IngestStore {
  const { id: clusterId, organization_id: organizationId } = cluster;
  const note = (resource: ChangeResource): void => noteChange(trx, { organizationId, resource, clusterId });
  return {
    recordEvents: async (records) => {
      const recorded = await recordEvents(trx, cluster.id, receivedAt, records);
      // A replay records nothing.
      if (recorded.length > 0) note('events');
      return recorded;
    },
    foldConditions: async (conditions) => {
      const current = await foldConditions(trx, cluster.id, receivedAt, conditions);
      await noteObserved(trx, cluster.id, current);
      if (current.length > 0) noteChange(trx, { organizationId, resource: 'clusters', id: clusterId, clusterId });
      return current;
    },
    appendAudit: async (entries) => {
      note('audit');
      await insertAudit.run(
        trx,
        entries.map((entry) =>
          auditRow({
            ...entry,
            organizationId: cluster.organization_id,
            clusterId: cluster.id,
            at: receivedAt,
            source: 'agent',
          }),
        ),
      );
    },
    tellChannel: async (news) => await tellChannel(trx, cluster, receivedAt, news),
    findIntents: async (ids) => await findIntentSnapshots(trx, cluster.id, ids),
    moveIntents: async (moves) => {
      await moveIntentRows(trx, cluster.id, receivedAt, moves);
    },
    setAppliedRevision: async (revision) => {
      await setAppliedRevision(trx, cluster.id, revision);
    },
  };
}
