import { configTopic, jobsTopic } from '../topics.ts';
import type { Store } from './open-store.ts';

/** Jobs that wait. One look hands out some; the next sweep finds the rest. */
const MAX_WAITING_CLUSTERS = 1000;

/**
 * Finds what changed since it last looked, whoever changed it: the fallback of wake-ups. Two numbers tell that no
 * configuration changed; only when they moved are the revisions read.
 */
export class ChangeSweep {
  readonly #store: Pick<Store, 'db'>;
  #sum: string | undefined;
  #revisions: ReadonlyMap<string, number> | undefined;

  constructor(deps: { readonly store: Pick<Store, 'db'> }) {
    this.#store = deps.store;
  }

  /** Topics to be woken. The first look only remembers. */
  async changed(): Promise<string[]> {
    return [...(await this.#changedConfigurations()), ...(await this.#waitingJobs())];
  }

  async #changedConfigurations(): Promise<string[]> {
    const { db } = this.#store;
    const { clusters, revisions } = await db
      .selectFrom('clusters')
      .select((eb) => [eb.fn.countAll().as('clusters'), eb.fn.sum('config_revision').as('revisions')])
      .executeTakeFirstOrThrow();
    const sum = `${clusters}/${revisions}`;
    if (sum === this.#sum) return [];
    const rows = await db.selectFrom('clusters').select(['id', 'config_revision']).execute();
    const before = this.#revisions;
    this.#sum = sum;
    this.#revisions = new Map(rows.map((row) => [row.id, row.config_revision]));
    if (before === undefined) return [];
    return rows.flatMap((row) => (before.get(row.id) === row.config_revision ? [] : [configTopic(row.id)]));
  }

  /** A job that nobody was given, while a poll of its cluster is held, was not told of. */
  async #waitingJobs(): Promise<string[]> {
    const rows = await this.#store.db
      .selectFrom('jobs')
      .select('cluster_id')
      .distinct()
      .where('state', '=', 'pending')
      .limit(MAX_WAITING_CLUSTERS)
      .execute();
    return rows.map((row) => jobsTopic(row.cluster_id));
  }
}
