import { sql, type Kysely } from 'kysely';
import { credentialInfosOf } from '../git-hosts/credential-info.ts';
import type { Database } from '../store/schema.ts';

/** What is counted in the database, of all organizations. */
export interface CountedState {
  readonly clusters: readonly {
    readonly mode: string;
    readonly health: string;
    readonly connected: string;
    readonly count: number;
  }[];
  readonly intents: readonly { readonly state: string; readonly count: number }[];
  readonly oldestWaitingSince: string | null;
  readonly approvalsPending: number;
  /** The soonest end of each kind. */
  readonly expiries: Readonly<Record<string, string | undefined>>;
}

/** Seven queries, however much there is. */
export async function countState(db: Kysely<Database>): Promise<CountedState> {
  const clusters = await countClusters(db);
  const intents = await db
    .selectFrom('intents')
    .select(['state', (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy('state')
    .execute();
  const oldest = await db
    .selectFrom('intents')
    .select('accepted_at')
    .where('state', '=', 'accepted')
    .where('awaits_approval', 'is', null)
    .orderBy('accepted_at')
    .limit(1)
    .executeTakeFirst();
  const pending = await db
    .selectFrom('approvals')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('state', '=', 'pending')
    .executeTakeFirstOrThrow();
  const push = await db
    .selectFrom('push_credentials')
    .select((eb) => eb.fn.min('expires_at').as('at'))
    .where('state', '=', 'current')
    .executeTakeFirst();
  const authority = await db
    .selectFrom('certificate_authorities')
    .select((eb) => eb.fn.max('expires_at').as('at'))
    .executeTakeFirst();
  const repositories = await db
    .selectFrom('repositories')
    .select('credential_info')
    .where('credential_info', 'is not', null)
    .execute();
  return {
    clusters,
    intents,
    oldestWaitingSince: oldest?.accepted_at ?? null,
    approvalsPending: pending.count,
    expiries: {
      'push-credential': push?.at ?? undefined,
      // The newest signs; what an older one signed ends with it.
      'client-authority': authority?.at ?? undefined,
      repository: soonest(repositories.flatMap(endsOf)),
    },
  };
}

async function countClusters(db: Kysely<Database>): Promise<CountedState['clusters']> {
  const { rows } = await sql<{ mode: string; health: string; connected: number; count: number }>`
    SELECT mode, health, connected, count(*) AS count
      FROM (SELECT clusters.connectivity_mode AS mode,
                   CASE WHEN clusters.reach = 'reached' THEN 1 ELSE 0 END AS connected,
                   CASE WHEN clusters.reach <> 'reached' THEN clusters.reach
                        WHEN clusters.reported_fault IS NOT NULL OR coalesce(apps.degraded, 0) > 0 THEN 'degraded'
                        WHEN clusters.delivery_held = 1 OR coalesce(apps.progressing, 0) > 0 THEN 'progressing'
                        ELSE 'healthy' END AS health
              FROM clusters
              LEFT JOIN (SELECT cluster_id,
                                sum(CASE WHEN health = 'degraded' THEN 1 ELSE 0 END) AS degraded,
                                sum(CASE WHEN health = 'progressing' THEN 1 ELSE 0 END) AS progressing
                           FROM applications WHERE health IN ('degraded', 'progressing') GROUP BY cluster_id) AS apps
                ON apps.cluster_id = clusters.id) AS each_cluster
     GROUP BY mode, health, connected`.execute(db);
  return rows.map(({ mode, health, connected, count }) => ({
    mode,
    health,
    connected: connected === 1 ? 'true' : 'false',
    count,
  }));
}

function endsOf(row: { readonly credential_info: string | null }): string[] {
  const infos = credentialInfosOf(row);
  return [infos?.write, infos?.read, infos?.api].flatMap((info) => info?.expiresAt ?? []);
}

function soonest(ends: readonly string[]): string | undefined {
  return ends.toSorted((one, other) => Date.parse(one) - Date.parse(other))[0];
}
