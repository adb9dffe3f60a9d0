import { beginSwitch, type SwitchRequest } from '../../../src/control-plane/modes/begin-switch.ts';
import { cancelSwitch } from '../../../src/control-plane/modes/cancel-switch.ts';
import { DEFAULT_SWITCH_LIMITS, type SwitchMove } from '../../../src/control-plane/modes/decide-switch.ts';
import { noteReportedEpoch } from '../../../src/control-plane/modes/note-reported-epoch.ts';
import type { TargetProbes } from '../../../src/control-plane/modes/probe-target.ts';
import { SwitchLoop, type SwitchLoopDeps } from '../../../src/control-plane/modes/switch-loop.ts';
import { insertIntent } from '../../../src/control-plane/store/intents.ts';
import { insertJob } from '../../../src/control-plane/store/jobs.ts';
import { markHandedOver } from '../../../src/control-plane/store/mode-handovers.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import type {
  ClusterRow,
  IntentRow,
  ModeHandoverRow,
  ModeSwitchRow,
  ResourceConditionRow,
} from '../../../src/control-plane/store/schema.ts';
import { Wakeups } from '../../../src/control-plane/wakeups.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { insertCluster, insertOrganization, TEST_LOGGER } from '../store/open-test-store.ts';
import type { TestDatabase } from '../store/test-databases.ts';
import { READY } from './switch-facts.ts';

export const CLUSTER = 'c-0000000000000001';
const START = '2026-11-28T10:00:00.000Z';
const ALLOWED = { allowed_namespaces: '["shop","other"]', allowed_catalog_entries: '["podinfo"]' };

/** A database with a cluster whose operator and whose transports the test plays. */
export class SwitchWorld implements AsyncDisposable {
  readonly store: Store;
  readonly clock = new ManualClock(START);
  readonly wakeups = new Wakeups({ clock: this.clock });
  probes: TargetProbes = READY;
  probeBy: SwitchLoopDeps['probe'] = async () => await Promise.resolve(this.probes);
  isDelivering = false;
  #ids = 0;
  readonly #database: TestDatabase;

  private constructor(database: TestDatabase, store: Store) {
    this.#database = database;
    this.store = store;
  }

  /** An active cluster, heard a moment ago, in one of the modes. */
  static async open(
    create: () => Promise<TestDatabase>,
    cluster: Partial<ClusterRow> & Pick<ClusterRow, 'connectivity_mode'>,
  ): Promise<SwitchWorld> {
    const database = await create();
    const world = new SwitchWorld(database, await database.open());
    await insertOrganization(world.store, 'org-1');
    await insertCluster(world.store, { id: CLUSTER, organization_id: 'org-1', slug: 'eu' });
    await world.change({ status: 'Active', last_contact_at: START, reported_epoch: 1, ...ALLOWED, ...cluster });
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
    this.#database[Symbol.dispose]();
  }

  async change(columns: Partial<ClusterRow>): Promise<void> {
    await this.store.write(async (trx) => {
      await trx.updateTable('clusters').set(columns).where('id', '=', CLUSTER).execute();
    });
  }

  async cluster(): Promise<ClusterRow> {
    return await this.store.db.selectFrom('clusters').selectAll().where('id', '=', CLUSTER).executeTakeFirstOrThrow();
  }

  async repository(id: string): Promise<string> {
    const nothing = { host: null, host_settings: null, credentials_sealed: null, credential_info: null, probe: null };
    await this.store.write(async (trx) => {
      await trx
        .insertInto('repositories')
        .values({
          ...nothing,
          id,
          organization_id: 'org-1',
          name: `org-1/${id}`,
          url: `https://git.example/${id}.git`,
          branch: 'main',
          layout: 'flat',
          embedded: 1,
          layout_move: null,
          layout_history: null,
          created_at: START,
        })
        .execute();
    });
    return id;
  }

  /** A kubeconfig that was given with a switch. */
  async pushCredential(id: string, state: 'candidate' | 'current'): Promise<string> {
    const row = { expires_at: null, renew_at: null, renewed_at: null, renewal_fault: null, probe: null, reach: null };
    await this.store.write(async (trx) => {
      await trx
        .insertInto('push_credentials')
        .values({
          ...row,
          id,
          cluster_id: CLUSTER,
          state,
          server: 'https://api.example:6443',
          info: JSON.stringify({ user: 'system:serviceaccount:service:push', proof: ['token'], ownCa: true }),
          credential_sealed: 'sealed',
          created_by: 'anna',
          created_at: START,
          revoked_at: null,
          revoked_reason: null,
        })
        .execute();
    });
    return id;
  }

  async begin(request: Partial<SwitchRequest> & Pick<SwitchRequest, 'to'>): Promise<ModeSwitchRow> {
    const deps = { clock: this.clock, randomBytes: (n: number) => new Uint8Array(n).fill((this.#ids += 1)) };
    const full = { clusterId: CLUSTER, options: {}, requestedBy: 'anna', ...request };
    return (await this.store.write(async (trx) => await beginSwitch(trx, deps, full))).row;
  }

  /** A program that was just started on the database: nothing in memory. */
  loop(): SwitchLoop {
    return new SwitchLoop({
      store: this.store,
      wakeups: this.wakeups,
      clock: this.clock,
      logger: TEST_LOGGER,
      lastContact: { pending: () => undefined },
      probe: async (row, signal) => await this.probeBy(row, signal),
      isDelivering: async () => await Promise.resolve(this.isDelivering),
      limits: DEFAULT_SWITCH_LIMITS,
    });
  }

  /** One step by a program that ends after it. */
  async step(id: string): Promise<SwitchMove['kind']> {
    return await this.loop().step(id);
  }

  /** Steps, each by a program of its own, until it waits or is over. */
  async goOn(id: string): Promise<ModeSwitchRow> {
    for (let steps = 0; steps < 20; steps += 1) {
      const kind = await this.step(id);
      if (kind === 'wait' || kind === 'over') break;
    }
    return await this.row(id);
  }

  async cancel(id: string): Promise<void> {
    const at = this.clock.now().toISOString();
    await this.store.write(async (trx) => await cancelSwitch(trx, { switchId: id, cancelledBy: 'bert', at }));
  }

  async row(id: string): Promise<ModeSwitchRow> {
    return await this.store.db.selectFrom('mode_switches').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  }

  async handovers(): Promise<ModeHandoverRow[]> {
    const query = this.store.db.selectFrom('mode_handovers').selectAll().where('cluster_id', '=', CLUSTER);
    return await query.orderBy('epoch').orderBy('intent_id').execute();
  }

  async intent(intent: Partial<IntentRow> & Pick<IntentRow, 'id' | 'name' | 'state'>): Promise<void> {
    const row: IntentRow = {
      organization_id: 'org-1',
      cluster_id: CLUSTER,
      target_kind: 'ApplicationInstance',
      namespace: 'shop',
      generation: 1,
      action: 'install',
      record: '{}',
      idempotency_key: intent.id,
      reason: null,
      requested_by: 'anna',
      recovery_values: null,
      render_inputs: null,
      awaits_approval: null,
      accepted_at: START,
      delivered_at: null,
      applied_at: null,
      ready_at: null,
      ...intent,
    };
    await this.store.write(async (trx) => await insertIntent(trx, row));
  }

  async job(id: string, intentId: string, state: 'pending' | 'delivered' | 'acknowledged', epoch = 1): Promise<void> {
    await this.store.write(async (trx) => {
      await insertJob(trx, {
        id,
        cluster_id: CLUSTER,
        intent_id: intentId,
        kind: 'apply',
        target_kind: 'ApplicationInstance',
        namespace: 'shop',
        name: intentId,
        generation: 1,
        delivery_epoch: epoch,
        idempotency_key: id,
        payload: '{}',
        created_at: START,
        expires_at: START,
      });
      await trx.updateTable('jobs').set({ state }).where('id', '=', id).execute();
    });
  }

  /** The operator has read the configuration and says so. */
  async report(epoch: number): Promise<void> {
    const { store } = this;
    const about = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', name: 'cluster' };
    const event = { eventKey: `e/${epoch}`, kind: 'ClusterHeartbeat' as const, resourceRef: about, conditions: [] };
    await store.write(async (trx) => {
      await noteReportedEpoch(trx, await this.cluster(), [{ ...event, source: { epoch } }]);
    });
    await this.contact();
  }

  async contact(): Promise<void> {
    await this.change({ last_contact_at: this.clock.now().toISOString() });
  }

  /** Time goes by in which the operator calls. */
  async inContact(minutes: number, loop: SwitchLoop, id: string): Promise<void> {
    for (let minute = 0; minute < minutes; minute += 1) {
      this.clock.advance(60_000);
      await this.contact();
      await loop.step(id);
    }
  }

  /** What waits is brought by the transport of the present mode. */
  async deliver(): Promise<void> {
    const { connectivity_mode: mode, delivery_epoch: epoch, delivery_held: held } = await this.cluster();
    if (held === 1) return;
    const receipt = {
      state: 'delivered',
      mode,
      ...(mode === 'push' ? { fieldManager: 'm' } : { commit: 'abc' }),
    } as const;
    for (const { intent_id: id } of await this.handovers()) {
      const at = this.clock.now().toISOString();
      await this.store.write(async (trx) => {
        await markHandedOver(trx, { id, delivery_epoch: epoch }, { ...receipt, intentId: id }, at);
      });
    }
    if (mode === 'gitops') await this.change({ desired_revision: `tree-${epoch}` });
  }

  /** The operator reports each object at its pair, and that it has applied what Git holds. */
  async confirm(): Promise<void> {
    const { connectivity_mode: mode, delivery_epoch: epoch, desired_revision: revision } = await this.cluster();
    for (const row of await this.handovers()) {
      if (row.epoch === epoch && row.state === 'delivered')
        await this.status(row, { epoch, generation: row.generation });
    }
    if (mode === 'gitops') await this.change({ applied_revision: revision });
  }

  async status(object: Pick<ModeHandoverRow, 'target_kind' | 'namespace' | 'name'>, source: object): Promise<void> {
    const row: ResourceConditionRow = {
      cluster_id: CLUSTER,
      uid: object.name,
      type: 'Ready',
      api_version: 'apps.service.io/v1alpha1',
      kind: object.target_kind,
      namespace: object.namespace,
      name: object.name,
      status: 'True',
      reason: null,
      message: null,
      last_transition_time: null,
      generation: 1,
      order_key: '1',
      source: JSON.stringify(source),
      updated_at: START,
    };
    await this.store.write(async (trx) => {
      await trx.deleteFrom('resource_conditions').where('uid', '=', object.name).execute();
      await trx.insertInto('resource_conditions').values(row).execute();
    });
  }
}

/** From pull to push with one application that runs, up to the fence. */
export async function switchToPush(
  create: () => Promise<TestDatabase>,
): Promise<{ readonly world: SwitchWorld; readonly id: string }> {
  const world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
  await world.intent({ id: 'int-1', name: 'web', state: 'ready' });
  const pushCredentialId = await world.pushCredential('push-1', 'candidate');
  const { id } = await world.begin({ to: 'push', pushCredentialId });
  await world.goOn(id);
  return { world, id };
}
