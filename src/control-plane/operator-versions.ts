import { supportedMinors, operatorSupport } from '../protocol/version-skew.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { appendAudit } from './store/audit.ts';
import type { Store } from './store/open-store.ts';
import type { ClusterRow } from './store/schema.ts';

/** Clusters whose version was looked at; a larger fleet is looked at again. */
const MAX_KNOWN = 20_000;

/**
 * Which version each cluster's operator runs, as its calls say. One that is too old is served like any other: it is told
 * of in the log and, once for each pair of versions, in the audit.
 */
export class OperatorVersions {
  readonly #deps: {
    readonly store: Store;
    readonly clock: Clock;
    readonly version: string;
    readonly logger: Logger;
  };
  readonly #known = new Map<string, string>();

  constructor(deps: {
    readonly store: Store;
    readonly clock: Clock;
    /** Of this control plane. */
    readonly version: string;
    readonly logger: Logger;
  }) {
    this.#deps = deps;
  }

  /** A call of the cluster's operator. Writes only when it says something new; never fails a call. */
  async note(cluster: ClusterRow, version: string | undefined): Promise<void> {
    if (version === undefined || this.#known.get(cluster.id) === version) return;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(cluster.id, version);
    try {
      await this.#take(cluster, version);
    } catch (error) {
      this.#known.delete(cluster.id);
      this.#deps.logger.warn({ err: error, cluster: cluster.id }, "an operator's version could not be stored");
    }
  }

  async #take(cluster: ClusterRow, version: string): Promise<void> {
    const { store, clock, logger, version: own } = this.#deps;
    const tooOld = operatorSupport(own, version) === 'tooOld';
    if (!tooOld && cluster.operator_version === version) return;
    const summary = `the operator of ${cluster.slug} is version ${version}; control plane ${own} works with ${supportedMinors(own)}. It is served all the same: upgrade it`;
    if (tooOld) logger.warn({ cluster: cluster.id, operator: version, controlPlane: own }, summary);
    await store.write(async (trx) => {
      await trx.updateTable('clusters').set({ operator_version: version }).where('id', '=', cluster.id).execute();
      if (!tooOld) return;
      const told = await trx
        .selectFrom('audit')
        .select('id')
        .where('cluster_id', '=', cluster.id)
        .where('kind', '=', 'OperatorTooOld')
        .where('summary', '=', summary)
        .executeTakeFirst();
      if (told !== undefined) return;
      await appendAudit(trx, {
        organizationId: cluster.organization_id,
        at: clock.now().toISOString(),
        source: 'agent',
        kind: 'OperatorTooOld',
        clusterId: cluster.id,
        summary,
        reason: 'OperatorTooOld',
      });
    });
  }
}
