import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { findCluster } from '../store/clusters.ts';
import type { WorkQueue } from '../store/delivery-queue.ts';
import type { LastContact } from '../store/last-contact.ts';
import { lockCluster } from '../store/lock-cluster.ts';
import type { Store } from '../store/open-store.ts';
import type { ClusterRow, ModeSwitchRow } from '../store/schema.ts';
import { configTopic, DELIVERY_TOPIC, jobsTopic, MODES_TOPIC, PROPOSALS_TOPIC, statusTopic } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';
import { carryOutMove } from './carry-out-move.ts';
import { confirmRows } from './confirm-rows.ts';
import { ContactTime } from './contact-time.ts';
import { decideSwitch, type SwitchLimits, type SwitchMove } from './decide-switch.ts';
import { decidedOf, gatherFacts, silenceOf, type SeenFacts } from './gather-facts.ts';
import { isOver } from './mode-switch.ts';
import type { TargetProbes } from './probe-target.ts';
import { noteChange } from '../store/changes.ts';
import { findSwitch, openSwitchIds } from './switch-rows.ts';

/** While switches are open; a wake-up only says "look". */
const OPEN_SWEEP_MS = 3000;
const IDLE_SWEEP_MS = 60_000;
/** Switches looked at at once: one whose probe hangs holds up few others. */
const MAX_ACTIVE = 16;
/** A switch makes few steps in a row. */
const MAX_MOVES = 20;
const PROBE_TIMEOUT_MS = 60_000;
/** Between two probes of one switch; and while its operator is silent, so that nothing comes of them. */
const PROBE_EVERY_MS = 5000;
const PROBE_SILENT_EVERY_MS = 5 * 60_000;

export interface SwitchLoopDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lastContact: Pick<LastContact, 'pending'>;
  /** Looks at the way that a switch is to. */
  readonly probe: (row: ModeSwitchRow, signal: AbortSignal) => Promise<TargetProbes>;
  /** Whether a batch of a queue is being delivered, by whichever replica. */
  readonly isDelivering: (queue: WorkQueue) => Promise<boolean>;
  readonly limits: SwitchLimits;
}

/**
 * Brings switches of mode to their ends (`decideSwitch`), at one replica. What there is to do is read from the database each
 * time, and each step is one transaction: a program that ends in the middle goes on where it was.
 */
export class SwitchLoop {
  readonly #deps: SwitchLoopDeps;
  readonly #contact = new ContactTime();
  readonly #probed = new Map<string, { readonly at: number; readonly probes: TargetProbes }>();
  readonly #active = new Map<string, Promise<void>>();
  /** Of those the ones that are to be looked at once more. */
  readonly #again = new Set<string>();

  constructor(deps: SwitchLoopDeps) {
    this.#deps = deps;
  }

  async run(stop: AbortSignal): Promise<void> {
    const { wakeups, logger } = this.#deps;
    while (!stop.aborted) {
      const seen = wakeups.version(MODES_TOPIC);
      let waitMs = OPEN_SWEEP_MS;
      try {
        if (!(await this.#lookAtAll(stop))) waitMs = IDLE_SWEEP_MS;
      } catch (error) {
        if (!stop.aborted) logger.warn({ err: error }, 'looking for switches of mode failed; trying again');
      }
      await wakeups.waitFor(MODES_TOPIC, seen, stop, waitMs).catch((error: unknown) => {
        if (!stop.aborted) throw error;
      });
    }
    await Promise.all(this.#active.values());
  }

  /**
   * Looks at one switch and does the next thing that is to be done, if any.
   *
   * @throws what the database or the fault of that one switch says; the next look tries again
   */
  async step(switchId: string, stop: AbortSignal = new AbortController().signal): Promise<SwitchMove['kind']> {
    const { store, clock } = this.#deps;
    const row = await findSwitch(store.db, switchId);
    const cluster = row === undefined ? undefined : await findCluster(store.db, row.cluster_id);
    if (row === undefined || cluster === undefined || isOver(row)) return 'over';
    if (row.state === 'handing-over' || row.state === 'confirming') {
      await confirmRows(store, cluster, clock.now().toISOString());
    }
    const seen = await this.#see(row, cluster, stop);
    const { limits } = this.#deps;
    const facts = await gatherFacts(store.db, row, cluster, seen);
    const next = decideSwitch(decidedOf(row), facts, clock.now(), limits);
    if (next.kind === 'over' || next.kind === 'wait') return next.kind;
    // Decided again on what is there once nobody else changes it.
    const done = await store.write(async (trx): Promise<SwitchMove['kind']> => {
      const held = await lockCluster(trx, cluster.id);
      const present = held === undefined ? undefined : await findSwitch(trx, switchId);
      if (held === undefined || present === undefined) return 'over';
      if (turnOf(present) !== turnOf(row)) return 'wait';
      const now = clock.now();
      const move = decideSwitch(decidedOf(present), await gatherFacts(trx, present, held, seen), now, limits);
      if (move.kind !== 'over' && move.kind !== 'wait') {
        await carryOutMove(trx, present, held, move, now.toISOString());
      }
      return move.kind;
    });
    if (done !== 'over' && done !== 'wait') this.#tell(row, done);
    return done;
  }

  /** @returns whether any is open */
  async #lookAtAll(stop: AbortSignal): Promise<boolean> {
    const ids = await openSwitchIds(this.#deps.store.db);
    const open = new Set(ids);
    this.#contact.keepOnly(open);
    for (const id of this.#probed.keys()) if (!open.has(id)) this.#probed.delete(id);
    for (const id of ids) {
      if (this.#active.has(id)) {
        this.#again.add(id);
        continue;
      }
      while (this.#active.size >= MAX_ACTIVE) await Promise.race(this.#active.values());
      if (stop.aborted) break;
      const work = this.#goOn(id, stop).finally(() => this.#active.delete(id));
      this.#active.set(id, work);
    }
    return ids.length > 0;
  }

  /**
   * Steps of one switch until it waits and nothing has happened while it was looked at. It alone is looked at again: two that
   * wake all others would keep each other busy for ever. Never rejects.
   */
  async #goOn(id: string, stop: AbortSignal): Promise<void> {
    do {
      this.#again.delete(id);
      await this.#goOnOnce(id, stop);
    } while (this.#again.has(id) && !stop.aborted);
    this.#again.delete(id);
  }

  async #goOnOnce(id: string, stop: AbortSignal): Promise<void> {
    try {
      for (let moves = 0; moves < MAX_MOVES && !stop.aborted; moves += 1) {
        const kind = await this.step(id, stop);
        if (kind === 'over' || kind === 'wait') return;
      }
    } catch (error) {
      if (!stop.aborted)
        this.#deps.logger.warn({ err: error, switchId: id }, 'a switch of mode failed to go on; trying again');
    }
  }

  /** What is not in the database. */
  async #see(row: ModeSwitchRow, cluster: ClusterRow, stop: AbortSignal): Promise<SeenFacts> {
    const { clock, lastContact, isDelivering } = this.#deps;
    const isReported = cluster.reported_epoch !== null && cluster.reported_epoch >= (row.epoch ?? 0);
    const phase = `${turnOf(row)}/${row.phase === 'fencing' && isReported}`;
    const contact = lastContact.pending(cluster.id) ?? cluster.last_contact_at;
    const leaves = row.state === 'rolling-back' ? row.to_mode : row.from_mode;
    const isFencing = row.phase === 'fencing' && leaves === 'push';
    return {
      contactMs: this.#contact.spent(row.id, phase, contact, clock.now()),
      probes: row.state === 'probing' && row.cancelled_by === null ? await this.#probe(row, cluster, stop) : undefined,
      isDelivering: isFencing && (await isDelivering({ mode: 'push', clusterId: cluster.id })),
    };
  }

  async #probe(row: ModeSwitchRow, cluster: ClusterRow, stop: AbortSignal): Promise<TargetProbes> {
    const { store, clock, logger, probe } = this.#deps;
    const known = this.#probed.get(row.id);
    const everyMs = silenceOf(cluster) === undefined ? PROBE_EVERY_MS : PROBE_SILENT_EVERY_MS;
    if (known !== undefined && clock.now().getTime() - known.at < everyMs) return known.probes;
    let probes: TargetProbes;
    try {
      probes = await probe(row, AbortSignal.any([stop, AbortSignal.timeout(PROBE_TIMEOUT_MS)]));
    } catch (error) {
      stop.throwIfAborted();
      logger.warn({ err: error, switchId: row.id }, 'the probe of a mode failed; trying again');
      const message = error instanceof Error ? error.message : 'the probe failed';
      probes = { state: 'later', probes: [{ name: 'probe', ok: false, message }] };
    }
    this.#probed.set(row.id, { at: clock.now().getTime(), probes });
    const found = JSON.stringify(probes.probes);
    if (found === row.probes) return probes;
    await store.write(async (trx) => {
      await trx
        .updateTable('mode_switches')
        .set({ probes: found })
        .where('id', '=', row.id)
        .where('state', '=', 'probing')
        .execute();
      noteChange(trx, {
        organizationId: row.organization_id,
        resource: 'clusters',
        id: cluster.id,
        clusterId: cluster.id,
      });
    });
    return probes;
  }

  #tell({ cluster_id: clusterId }: ModeSwitchRow, done: SwitchMove['kind']): void {
    const { wakeups, logger } = this.#deps;
    logger.info({ clusterId, step: done }, 'a switch of mode goes on');
    for (const topic of [configTopic(clusterId), jobsTopic(clusterId), statusTopic(clusterId)]) wakeups.notify(topic);
    for (const topic of [DELIVERY_TOPIC, PROPOSALS_TOPIC]) wakeups.notify(topic);
  }
}

/** Another one after each move. */
function turnOf({ state, phase, phase_since: since, epoch }: ModeSwitchRow): string {
  return `${state}/${phase}/${since}/${epoch}`;
}
