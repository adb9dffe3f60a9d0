import { randomBytes } from 'node:crypto';
import { acceptIntent } from '../../../src/control-plane/accept-intent.ts';
import { DeliveryLoop } from '../../../src/control-plane/delivery-loop.ts';
import { StoreJobQueue } from '../../../src/control-plane/jobs/store-job-queue.ts';
import { beginSwitch } from '../../../src/control-plane/modes/begin-switch.ts';
import { fence, fenceBack } from '../../../src/control-plane/modes/fence.ts';
import { putCatalogEntry } from '../../../src/control-plane/store/catalog-entries.ts';
import { lockCluster } from '../../../src/control-plane/store/lock-cluster.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { ensureRepositoryRow } from '../../../src/control-plane/store/repositories.ts';
import type {
  ClusterRow,
  IntentRow,
  JobRow,
  ModeHandoverRow,
  ProposalRow,
} from '../../../src/control-plane/store/schema.ts';
import { ValuesChecker } from '../../../src/control-plane/values-checker.ts';
import { Wakeups } from '../../../src/control-plane/wakeups.ts';
import type { DeliveryItem, Receipt } from '../../../src/delivery/delivery.ts';
import { PullDelivery } from '../../../src/delivery/pull/pull-delivery.ts';
import type { IntentRequest } from '../../../src/intent/intent-request.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { INSTALL, PODINFO } from '../running-control-plane.ts';
import { insertCluster, insertOrganization } from '../store/open-test-store.ts';
import type { TestDatabase } from '../store/test-databases.ts';

/** What the repository makes of a batch: a script that the test writes. */
export type Script = (batch: readonly DeliveryItem[]) => AsyncIterable<Receipt>;

export const CLUSTER = 'c-1';

/** Every item is delivered, as one commit for each epoch. */
export async function* deliverAll(batch: readonly DeliveryItem[]): AsyncIterable<Receipt> {
  for (const { intent, target } of batch) {
    const commit = `commit of ${intent.id} at ${target.deliveryEpoch}`;
    yield { state: 'delivered', intentId: intent.id, mode: 'gitops', commit, revision: `tree-${target.deliveryEpoch}` };
  }
}

/** The delivering half of a control plane over a real database, with one cluster and a repository that is a script. */
export class HandoverStage implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly wakeups = new Wakeups({ clock: this.clock });
  readonly batches: (readonly DeliveryItem[])[] = [];
  readonly store: Store;
  script: Script = deliverAll;
  readonly #database: TestDatabase;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  private constructor(database: TestDatabase, store: Store) {
    this.#database = database;
    this.store = store;
  }

  static async open(database: TestDatabase, changes: Partial<ClusterRow>): Promise<HandoverStage> {
    const stage = new HandoverStage(database, await database.open());
    const { store, clock } = stage;
    await insertOrganization(store, 'org-1');
    await insertCluster(store, { id: CLUSTER, organization_id: 'org-1' });
    await store.write(async (trx) => {
      await putCatalogEntry(trx, 'org-1', { name: 'podinfo', ...PODINFO, updatedAt: '' } as never);
      const organization = { id: 'org-1', name: 'org-1' };
      const deps = { clock, randomBytes, baseUrl: 'http://x' };
      const repository = await ensureRepositoryRow(trx, organization, 'fleet', deps);
      await trx
        .updateTable('clusters')
        .set({
          status: 'Active',
          allowed_namespaces: '["shop"]',
          allowed_catalog_entries: '["podinfo"]',
          repository_id: repository.id,
          git_directory: 'clusters/prod-eu',
          ...changes,
        })
        .where('id', '=', CLUSTER)
        .execute();
    });
    return stage;
  }

  async accept(changes: Partial<IntentRequest> = {}): Promise<string> {
    // Acceptance is ordered by the millisecond.
    this.clock.advance(1);
    const request = (
      changes.action === undefined ? { ...INSTALL, ...changes } : { namespace: 'shop', name: 'podinfo', ...changes }
    ) as IntentRequest;
    const valuesChecker = new ValuesChecker({ clock: this.clock });
    const masterKey = { derive: () => new Uint8Array(32) };
    const deps = { ...this.#deps(), masterKey, valuesChecker };
    return (await acceptIntent(deps, { clusterId: CLUSTER, request, requestedBy: 'admin', requestKey: undefined })).id;
  }

  /** Starts the delivery loop. */
  start(): void {
    const queue = new StoreJobQueue(this.#deps());
    this.#running = new DeliveryLoop({
      ...this.#deps(),
      random: () => 0,
      logger: createLogger('test', 'silent'),
      sign: async (rendered) => rendered,
      open: async (target) => {
        if (target.mode === 'pull') return new PullDelivery(queue, target.clusterId);
        return {
          probe: async () => ({ state: 'ready' }),
          deliver: (batch) => {
            this.batches.push(batch);
            return this.script(batch);
          },
          [Symbol.asyncDispose]: async () => undefined,
        };
      },
    }).run(this.#stop.signal);
  }

  /** Commits the fence of a switch to that mode; nothing is delivered before `release`. */
  async fence(to: ClusterRow['connectivity_mode']): Promise<void> {
    this.clock.advance(1000);
    const at = this.clock.now().toISOString();
    await this.store.write(async (trx) => {
      await trx.updateTable('mode_switches').set({ open_for: null }).execute();
      const options = { closeProposals: true };
      const request = { clusterId: CLUSTER, to, options, requestedBy: 'admin' };
      const { row } = await beginSwitch(trx, this.#deps(), request);
      const cluster = await lockCluster(trx, CLUSTER);
      if (cluster === undefined) throw new Error('there is no cluster');
      await fence(trx, { ...row, phase: 'probing' }, cluster, { at, message: 'probed' });
    });
  }

  /** Asks for a switch, without having proposals closed. @throws AppError `conflict` */
  async begin(to: ClusterRow['connectivity_mode']): Promise<void> {
    const request = { clusterId: CLUSTER, to, options: {}, requestedBy: 'admin' };
    await this.store.write(async (trx) => await beginSwitch(trx, this.#deps(), request));
  }

  /** Commits the fence of the way back of the last switch. */
  async fenceBack(): Promise<void> {
    this.clock.advance(1000);
    const at = this.clock.now().toISOString();
    await this.store.write(async (trx) => {
      const cluster = await lockCluster(trx, CLUSTER);
      const row = await trx.selectFrom('mode_switches').selectAll().orderBy('id', 'desc').executeTakeFirstOrThrow();
      if (cluster === undefined) throw new Error('there is no cluster');
      await fenceBack(trx, row, cluster, { at, reason: 'cancelled' });
    });
  }

  /** The operator has left the old way: what is handed over is delivered. */
  async release(): Promise<void> {
    await this.change('clusters', { delivery_held: 0 });
    this.wakeups.notify('delivery');
  }

  async move(to: ClusterRow['connectivity_mode']): Promise<void> {
    await this.fence(to);
    await this.release();
  }

  async change(
    table: 'clusters' | 'intents' | 'mode_switches' | 'proposals',
    set: Record<string, unknown>,
  ): Promise<void> {
    await this.store.write(async (trx) => await trx.updateTable(table).set(set).execute());
  }

  async intent(id: string): Promise<IntentRow> {
    return await this.store.db.selectFrom('intents').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  }

  async cluster(): Promise<ClusterRow> {
    return await this.store.db.selectFrom('clusters').selectAll().executeTakeFirstOrThrow();
  }

  /** By epoch and name. */
  async jobs(): Promise<JobRow[]> {
    return await this.store.db.selectFrom('jobs').selectAll().orderBy('delivery_epoch').orderBy('name').execute();
  }

  async proposals(): Promise<ProposalRow[]> {
    return await this.store.db.selectFrom('proposals').selectAll().orderBy('created_at').execute();
  }

  async receipts(): Promise<object[]> {
    return await this.store.db.selectFrom('receipts').select(['intent_id', 'mode', 'commit_id']).execute();
  }

  /** Of the present epoch: intent, state and reason. */
  async handovers(): Promise<Pick<ModeHandoverRow, 'intent_id' | 'state' | 'reason'>[]> {
    const { delivery_epoch: epoch } = await this.cluster();
    const rows = this.store.db.selectFrom('mode_handovers').select(['intent_id', 'state', 'reason']);
    return await rows.where('epoch', '=', epoch).orderBy('intent_id').execute();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.store[Symbol.asyncDispose]();
    this.#database[Symbol.dispose]();
  }

  #deps() {
    return { store: this.store, wakeups: this.wakeups, clock: this.clock, randomBytes };
  }
}
