import type { Insertable, Kysely } from 'kysely';
import type { IngestStore } from '../../events/ingest/ingest-store.ts';
import { tellChannel } from '../channel/tell-channel.ts';
import { auditRow } from './audit.ts';
import { bulkInsert } from './bulk-insert.ts';
import { setAppliedRevision } from './clusters.ts';
import { recordEvents } from './events.ts';
import { findIntentSnapshots, moveIntentRows } from './intent-progress.ts';
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
  return {
    recordEvents: async (records) => await recordEvents(trx, cluster.id, receivedAt, records),
    foldConditions: async (conditions) => await foldConditions(trx, cluster.id, receivedAt, conditions),
    appendAudit: async (entries) => {
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
