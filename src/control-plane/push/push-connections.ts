import type { Delivery, DeliveryItem, Receipt } from '../../delivery/delivery.ts';
import type { PushApi } from '../../delivery/push/push-delivery.ts';
import { CREDENTIAL_NOT_TAKEN, NOT_OURS_TO_WRITE } from '../../delivery/push/read-push-fault.ts';
import type { PushTarget } from '../../delivery/select-delivery.ts';
import { connectCluster, type ClusterConnection } from '../../kube/connect-cluster.ts';
import { KubeError } from '../../kube/cluster-api.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { PROJECT_VERSION } from '../../runtime/project-version.ts';
import { namesIn } from '../cluster-settings.ts';
import type { MasterKey } from '../master-key.ts';
import { findCluster } from '../store/clusters.ts';
import type { PushCredentialRow } from '../store/mode-rows.ts';
import type { Store } from '../store/open-store.ts';
import { findPushCredential } from '../store/push-credentials.ts';
import type { ClusterRow } from '../store/schema.ts';
import { probePush, type PushProbed } from './probe-push.ts';
import { reachOf, type PushReach } from './push-credential-info.ts';
import { isOther, reachOfProof, storeReach, storeWritten } from './store-reach.ts';
import { proveCluster, type Proof } from './prove-cluster.ts';
import { waitingDelivery } from './waiting-delivery.ts';
import { kubeconfigOf, openAccess, type PushAccess } from './push-access.ts';

/**
 * How long it holds that an API server is the cluster's: behind an address there may be another one tomorrow, with the same
 * certificate authority and account.
 */
const PROOF_HOLDS_MS = 60_000;
/** An object is at most 1.5 MiB in etcd, and is read one at a time. */
const MAX_ANSWER_BYTES = 2 * 1024 * 1024;
/** Connections that are kept; of those that nobody uses the one used longest ago goes first. */
const MAX_WARM = 512;
/** Of one request: API servers answer in milliseconds, and one that hangs is to be known soon. */
const REQUEST_TIMEOUT_MS = 10_000;
/** One that was not used for so long goes when another is asked for. */
const IDLE_MS = 15 * 60_000;

const NEVER = new AbortController().signal;

export interface PushConnectionsDeps {
  readonly store: Pick<Store, 'db' | 'write'>;
  readonly masterKey: Pick<MasterKey, 'open'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** What writes by a connection. It does not own it. */
  readonly deliverBy: (api: PushApi, cluster: Pick<ClusterRow, 'id' | 'slug'>) => Delivery;
}

/** How a whole batch went. */
interface BatchEnd {
  /** Why some of it must be tried again. */
  readonly fault: string | undefined;
}

/** A connection in use or kept for the next batch. */
interface Warm {
  readonly credentialId: string;
  /** The row's id and what is sealed in it: another credential, or a renewed one, gets another connection. */
  readonly signature: string;
  readonly connection: ClusterConnection;
  readonly delivery: Delivery;
  /** Until when the API server is taken for the cluster's; what is written later is preceded by another look. */
  provenUntil: number;
  /** The database says that it is another cluster's (`isOther`). */
  isOther: boolean;
  users: number;
  usedAt: number;
  /** How it went before, so that the database hears of success once. */
  reach: PushReach['state'] | undefined;
  /** Closes when nobody uses it any more. */
  isRetired: boolean;
}

/**
 * The connections of push mode to the API servers of clusters, kept warm while they are used. Which credential holds is read
 * from the database each time, so that a new one, a renewed one or a revocation holds for the next batch on every replica.
 */
export class PushConnections implements AsyncDisposable {
  readonly #deps: PushConnectionsDeps;
  readonly #warm = new Map<string, Warm>();

  constructor(deps: PushConnectionsDeps) {
    this.#deps = deps;
  }

  /** The transport to a cluster. Where it cannot be written to, its receipts say why and are `retry`. */
  async open({ clusterId }: PushTarget): Promise<Delivery> {
    const { db } = this.#deps.store;
    const cluster = await findCluster(db, clusterId);
    const row = await findPushCredential(db, clusterId);
    if (cluster === undefined || row === undefined) {
      await this.#retire(clusterId);
      const slug = cluster?.slug ?? clusterId;
      return waitingDelivery(
        `cluster ${slug} has no push credential; give it one with: servicectl clusters push-credential ${slug} --kubeconfig FILE`,
      );
    }
    if (cluster.disabled_at !== null || cluster.revoked_at !== null) {
      await this.#retire(clusterId);
      const why = cluster.disabled_at === null ? 'has its credentials revoked: let it register again' : 'is disabled';
      return waitingDelivery(`cluster ${cluster.slug} ${why}`);
    }
    const signature = `${row.id} ${row.credential_sealed ?? ''}`;
    const known = this.#warm.get(clusterId);
    if (known?.signature === signature) {
      known.reach = reachOf(row)?.state;
      known.isOther = isOther(row);
      // Whether it still is so shows the next look, before anything is written.
      if (known.isOther) known.provenUntil = 0;
      return this.#leased(known, cluster);
    }
    const access = await this.#opened(row);
    await this.#retire(clusterId);
    const connection = this.connect(access);
    const warm: Warm = {
      credentialId: row.id,
      signature,
      connection,
      delivery: this.#deps.deliverBy(
        this.#proving(connection, () => this.#prove(warm, cluster)),
        cluster,
      ),
      provenUntil: 0,
      isOther: isOther(row),
      users: 0,
      usedAt: this.#now(),
      reach: reachOf(row)?.state,
      isRetired: false,
    };
    this.#warm.set(clusterId, warm);
    await this.#coolDown();
    return this.#leased(warm, cluster);
  }

  /** A connection of the caller's own, to be disposed of by it. */
  connect(access: PushAccess): ClusterConnection {
    const { clock, random, logger } = this.#deps;
    return connectCluster({
      kubeconfig: { kind: 'text', yaml: kubeconfigOf(access) },
      userAgent: `service-control-plane/${PROJECT_VERSION}`,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      clock,
      random,
      logger,
    });
  }

  /** Probes an access that is not stored, or a stored credential, candidates included. Rejects only when aborted. */
  async probe(
    credential: PushAccess | PushCredentialRow,
    cluster: Pick<ClusterRow, 'id' | 'slug' | 'allowed_namespaces'>,
    signal: AbortSignal,
  ): Promise<PushProbed> {
    const access = 'credential_sealed' in credential ? await this.#opened(credential) : credential;
    await using connection = this.connect(access);
    const allowedNamespaces = namesIn(cluster.allowed_namespaces);
    const { id, slug } = cluster;
    return await probePush({ connection, clock: this.#deps.clock }, { id, slug, allowedNamespaces }, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const warm = [...this.#warm.values()];
    this.#warm.clear();
    await Promise.all(warm.map(async ({ connection }) => await connection[Symbol.asyncDispose]()));
  }

  async #opened(row: PushCredentialRow): Promise<PushAccess> {
    return (await openAccess(this.#deps.masterKey, row)).access;
  }

  #leased(warm: Warm, cluster: Pick<ClusterRow, 'id' | 'slug'>): Delivery {
    // Now, not at the first receipt: it may be pushed out before.
    warm.usedAt = this.#now();
    const leave = async (end: BatchEnd | undefined): Promise<void> => {
      warm.users -= 1;
      warm.usedAt = this.#now();
      if (warm.isRetired && warm.users === 0) await warm.connection[Symbol.asyncDispose]();
      if (end !== undefined) await this.#tell(warm, end);
    };
    return {
      probe: async (signal) => await warm.delivery.probe(signal),
      deliver: (batch, signal) =>
        deliver(warm, async () => await this.#prove(warm, cluster, signal), { batch, signal, leave }),
      [Symbol.asyncDispose]: async () => await Promise.resolve(),
    };
  }

  /** A batch may take minutes: the proof is looked at before each write of it. */
  #proving(connection: ClusterConnection, prove: () => Promise<string | undefined>): PushApi {
    const guarded: PushApi['guarded'] = (mayWrite) =>
      connection.guarded(async () => {
        await mayWrite();
        const fault = await prove();
        if (fault !== undefined) throw new KubeError(fault, { status: 0, reason: NOT_OURS_TO_WRITE });
      });
    return { ...connection, guarded };
  }

  /** Why nothing may be written now; undefined when the API server is this cluster's, as seen less than a minute ago. */
  async #prove(
    warm: Warm,
    cluster: Pick<ClusterRow, 'id' | 'slug'>,
    signal: AbortSignal = NEVER,
  ): Promise<string | undefined> {
    if (this.#now() < warm.provenUntil) return undefined;
    const { clock, store } = this.#deps;
    const since = this.#now();
    let proof: Proof;
    try {
      proof = await proveCluster({ api: warm.connection, clock }, cluster, signal);
    } catch (error) {
      signal.throwIfAborted();
      const why = error instanceof Error ? error.message : 'the API server could not be asked';
      return error instanceof KubeError && error.status === 401 ? `${CREDENTIAL_NOT_TAKEN}: ${why}` : why;
    }
    const found = reachOfProof(proof);
    // All replicas hear of it: what one of them has found stops the others too, until one has found otherwise.
    if (proof.state === 'other' || (proof.state === 'same' && warm.isOther)) {
      await storeReach(store, { id: warm.credentialId }, found, clock);
      warm.isOther = proof.state === 'other';
      warm.reach = found.state;
    }
    if (proof.state !== 'same') return found.message;
    warm.provenUntil = since + PROOF_HOLDS_MS;
    return undefined;
  }

  async #tell(warm: Warm, { fault }: BatchEnd): Promise<void> {
    const state = fault === undefined ? 'ready' : fault.startsWith(CREDENTIAL_NOT_TAKEN) ? 'refused' : 'failing';
    if (warm.reach === state && state === 'ready') return;
    const { store, clock, logger } = this.#deps;
    const message = fault ?? 'the last delivery was taken';
    try {
      await storeWritten(store, { id: warm.credentialId }, { state, message }, clock);
    } catch (error) {
      // The watch looks again within a minute or ten; what was delivered must not be lost for it.
      logger.warn({ err: error, credentialId: warm.credentialId }, 'how a delivery went is not stored');
    }
  }

  /** What runs by it ends first; nothing new begins by it. */
  async #retire(clusterId: string): Promise<void> {
    const warm = this.#warm.get(clusterId);
    if (warm === undefined) return;
    this.#warm.delete(clusterId);
    warm.isRetired = true;
    if (warm.users === 0) await warm.connection[Symbol.asyncDispose]();
  }

  async #coolDown(): Promise<void> {
    const idle = [...this.#warm].filter(([, { users }]) => users === 0).toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    const longAgo = this.#now() - IDLE_MS;
    let excess = this.#warm.size - MAX_WARM;
    for (const [clusterId, { usedAt }] of idle.slice(0, -1)) {
      if (excess <= 0 && usedAt > longAgo) return;
      excess -= 1;
      await this.#retire(clusterId);
    }
  }

  #now(): number {
    return this.#deps.clock.now().getTime();
  }
}

async function* deliver(
  warm: Warm,
  prove: () => Promise<string | undefined>,
  turn: {
    readonly batch: readonly DeliveryItem[];
    readonly signal: AbortSignal;
    readonly leave: (end: BatchEnd | undefined) => Promise<void>;
  },
): AsyncIterable<Receipt> {
  warm.users += 1;
  let end: BatchEnd | undefined;
  try {
    let fault = await prove();
    const delivery = fault === undefined ? warm.delivery : waitingDelivery(fault);
    for await (const receipt of delivery.deliver(turn.batch, turn.signal)) {
      // An object that waits alone says nothing of the way.
      if (receipt.state === 'retry' && receipt.alone !== true) fault ??= receipt.message;
      yield receipt;
    }
    end = { fault };
  } finally {
    await turn.leave(end);
  }
}
