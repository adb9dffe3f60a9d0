import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { OPERATOR_NAMESPACE, OPS_API_VERSION, PUSH_FIELD_MANAGER } from '../../resources/labels.ts';
import type { Delivery, DeliveryItem, Probe, Receipt } from '../delivery.ts';
import { SUPERSEDED } from '../refusal-reasons.ts';
import { inLanes } from './in-lanes.ts';
import { pushManifest } from './push-manifest.ts';
import type { PushSlots } from './push-slots.ts';
import { pushTombstone } from './push-tombstone.ts';
import { NOT_OURS_TO_WRITE } from './read-push-fault.ts';
import { refused, type Pushed } from './pushed.ts';

/** Objects of one cluster that are written at once. */
const LANES = 4;

/** The connection to one cluster's API server. */
export interface PushApi extends ClusterApi {
  /** The same connection for work that may write only as long as `mayWrite` does not reject: asked before every write. */
  guarded(mayWrite: () => Promise<void>): ClusterApi;
}

export interface PushDeliveryDeps {
  readonly clusterId: string;
  /** Not owned: whoever opened it closes it. */
  readonly api: PushApi;
  /** Whether the cluster is in push mode at this delivery epoch and its delivery is not held; of the database, each time. */
  readonly mayWrite: (clusterId: string, epoch: number) => Promise<boolean>;
  /** The fleet's. */
  readonly slots: PushSlots;
}

/**
 * Writes intents to the API server of one cluster, by server-side apply under the field manager `service-control-plane` and
 * never by force. An intent's receipt says that the API server has the object, or has been asked to delete it; how it goes
 * on from there the operator reports.
 *
 * The first intent of a batch goes alone: where the API server does not answer, that is all that is tried. Then several
 * objects are written at once, and the intents of one object in their order.
 */
export class PushDelivery implements Delivery {
  readonly #deps: PushDeliveryDeps;
  #guarded: { readonly epoch: number; readonly api: ClusterApi } | undefined;

  constructor(deps: PushDeliveryDeps) {
    this.#deps = deps;
  }

  async probe(signal: AbortSignal): Promise<Probe> {
    try {
      const kind = { apiVersion: OPS_API_VERSION, kind: 'Cluster' };
      await this.#deps.api.list(kind, { namespace: OPERATOR_NAMESPACE, atMost: 1 }, signal);
      return { state: 'ready' };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof KubeError)) throw error;
      return { state: [401, 403].includes(error.status) ? 'forbidden' : 'unreachable', message: error.message };
    }
  }

  async *deliver(batch: readonly DeliveryItem[], signal: AbortSignal): AsyncGenerator<Receipt, void, undefined> {
    const items = [...batch];
    const overtaken = uninstalledLater(items);
    const first = items.find((item) => !overtaken.has(item));
    if (first === undefined) return;
    let fault: string | undefined;
    const push = async (item: DeliveryItem): Promise<Pushed> => {
      if (fault !== undefined) return { state: 'retry', message: fault };
      const pushed = await this.#push(item, signal);
      if (pushed.state === 'retry' && pushed.alone !== true) fault ??= pushed.message;
      return pushed;
    };

    const begun = await push(first);
    yield receiptOf(first, begun);
    const lanes = [...Map.groupBy(items, objectOf).values()];
    yield* inLanes(LANES, lanes, async (lane, take) => {
      const next = async (item: DeliveryItem): Promise<Pushed> =>
        await this.#deps.slots.use(async () => await push(item), signal);
      // What comes after an intent that has to wait waits too.
      let held: Pushed | undefined;
      let pointless: DeliveryItem[] = [];
      for (const item of lane) {
        if (overtaken.has(item)) {
          pointless.push(item);
          continue;
        }
        const pushed: Pushed = held ?? (item === first ? begun : await next(item));
        held ??= whereItWaits(pushed);
        if (item !== first) take(receiptOf(item, pushed));
        if (item.kind !== 'delete') continue;
        for (const before of pointless) take(receiptOf(before, held ?? (await afterUninstall(pushed, before, next))));
        pointless = [];
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The connection is its owner's.
  }

  async #push(item: DeliveryItem, signal: AbortSignal): Promise<Pushed> {
    const api = this.#apiFor(item.target.deliveryEpoch);
    return item.kind === 'apply'
      ? await pushManifest(api, item, this.#deps.clusterId, signal)
      : await pushTombstone(api, item, this.#deps.clusterId, signal);
  }

  /** No write of an older epoch leaves, each try of a request that is repeated included. */
  #apiFor(epoch: number): ClusterApi {
    if (this.#guarded?.epoch === epoch) return this.#guarded.api;
    const { api, mayWrite, clusterId } = this.#deps;
    const check = async (): Promise<void> => {
      let why = `the cluster is not written to in push mode at delivery epoch ${epoch} any more`;
      try {
        if (await mayWrite(clusterId, epoch)) return;
      } catch (error) {
        why = `it could not be read whether the cluster may be written to: ${error instanceof Error ? error.message : String(error)}`;
      }
      throw new KubeError(why, { status: 0, reason: NOT_OURS_TO_WRITE });
    };
    this.#guarded = { epoch, api: api.guarded(check) };
    return this.#guarded.api;
  }
}

function receiptOf({ intent: { id: intentId } }: DeliveryItem, pushed: Pushed): Receipt {
  if (pushed.state !== 'delivered') return { ...pushed, intentId };
  return { ...pushed, intentId, mode: 'push', fieldManager: PUSH_FIELD_MANAGER };
}

function whereItWaits(pushed: Pushed): Pushed | undefined {
  return pushed.state === 'retry' ? pushed : undefined;
}

function objectOf(item: DeliveryItem): string {
  const { kind } = item.kind === 'apply' ? item.object : item.tombstone;
  return `${kind}/${item.intent.namespace}/${item.intent.name}`;
}

/**
 * What an uninstall in the same batch makes pointless. After a crash both may have been carried out, and only their receipts
 * are missing: applied once more the object would be made anew, and the uninstall, which names the old one, not be its. So
 * the uninstall comes first, and what it leaves of them is seen then.
 */
function uninstalledLater(items: readonly DeliveryItem[]): ReadonlySet<DeliveryItem> {
  const uninstalled = new Set<string>();
  const pointless = new Set<DeliveryItem>();
  for (const item of items.toReversed()) {
    if (item.kind === 'delete') uninstalled.add(objectOf(item));
    else if (uninstalled.has(objectOf(item)) && item.isHandover !== true) pointless.add(item);
  }
  return pointless;
}

/** An uninstall that was refused was not carried out, so what was asked for before it still counts. */
async function afterUninstall(
  uninstall: Pushed,
  before: DeliveryItem,
  push: (item: DeliveryItem) => Promise<Pushed>,
): Promise<Pushed> {
  if (uninstall.state === 'refused') return await push(before);
  return refused(SUPERSEDED, 'an uninstall of the object was asked for after it');
}
