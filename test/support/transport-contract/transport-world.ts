import { expect, vi } from 'vitest';
import type { ClusterWrite } from './cluster-gate.ts';
import { RunningControlPlane } from '../../control-plane/running-control-plane.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { freePorts } from '../real-cluster/free-ports.ts';
import { sandboxCluster, type TransportCluster } from './transport-cluster.ts';
import { instanceRef, TransportMember, WITHIN } from './transport-member.ts';
import type { Transport } from './transports.ts';

/** What the parts of one application are written as. */
const PARTS = ['applicationinstances', 'operations', 'helmreleases', 'ocirepositories', 'secrets'];

/** How much was written so far, of what a delivery may write. */
export interface Marks {
  readonly deliveries: number;
  /** `<verb> <path>` of each write to the application's objects. */
  readonly writes: readonly string[];
  /** Events about the application's object. */
  readonly events: number;
}

/** A control plane at an address that it keeps, and a cluster that it delivers to by one transport. */
export class TransportWorld implements AsyncDisposable {
  readonly transport: Transport;
  readonly plane: RunningControlPlane;
  readonly member: TransportMember;
  readonly #owned: AsyncDisposableStack;

  private constructor(
    transport: Transport,
    plane: RunningControlPlane,
    member: TransportMember,
    owned: AsyncDisposableStack,
  ) {
    this.transport = transport;
    this.plane = plane;
    this.member = member;
    this.#owned = owned;
  }

  static async start(transport: Transport, cluster: Promise<TransportCluster>): Promise<TransportWorld> {
    await using owned = new AsyncDisposableStack();
    const [port] = await freePorts(1);
    // Started beside the control plane, and taken down with it where that does not start.
    owned.defer(async () => await (await cluster.catch(() => undefined))?.[Symbol.asyncDispose]());
    const plane = owned.use(await RunningControlPlane.start(systemClock, { SERVICE_LISTEN: `127.0.0.1:${port}` }));
    await plane.putPodinfo();
    const member = owned.use(await TransportMember.join({ plane, cluster: await cluster, slug: 'eu' }, transport));
    return new TransportWorld(transport, plane, member, owned.move());
  }

  /** A sandbox beside the cluster, of the same control plane, delivered to in the same way. */
  async joinAnother(slug: string): Promise<TransportMember> {
    const { plane, transport } = this;
    return await TransportMember.join({ plane, cluster: await sandboxCluster(), slug }, transport);
  }

  /** Resolves once everything that is to be said of the application was said: an intent can be over before that. */
  async #settled(name: string): Promise<void> {
    const { id, plane } = this.member;
    await vi.waitFor(async () => {
      expect(plane.query(`SELECT id FROM jobs WHERE cluster_id = ? AND state <> 'closed'`, id)).toEqual([]);
      expect(this.#writes(name)).toEqual(this.#answered(name));
      const live = await this.member.find(instanceRef(name));
      if (live === undefined) return;
      const known = plane.query(
        'SELECT type, status, last_transition_time AS at FROM resource_conditions WHERE uid = ?',
        String(live.metadata.uid),
      );
      const said = (live.status?.conditions ?? []).map(({ type, status, lastTransitionTime }) => ({
        type,
        status,
        at: lastTransitionTime,
      }));
      expect(known).toEqual(expect.arrayContaining(said));
    }, WITHIN);
  }

  async marks(name: string): Promise<Marks> {
    await this.#settled(name);
    const { id } = this.member;
    const [events] = this.plane.query(
      'SELECT count(*) AS n FROM events WHERE cluster_id = ? AND resource_ref LIKE ?',
      id,
      `%"name":"${name}"%`,
    );
    const deliveries = await this.transport.deliveries(this.member);
    return { deliveries, writes: this.#answered(name).map(asMark), events: Number(events?.['n']) };
  }

  /** The writes that the server took by now; one that has no answer yet may be refused, and then was no write. */
  #answered(name: string): readonly ClusterWrite[] {
    return this.#writes(name).filter(({ status }) => status !== 0);
  }

  #writes(name: string): readonly ClusterWrite[] {
    const { operatorGate, pushGate } = this.member.cluster;
    return [...operatorGate.writes, ...pushGate.writes].filter((write) => isAbout(write, name));
  }

  /** The payload writes to the application's object that the server took, by whoever writes it in this mode. */
  payloadWrites(name: string): readonly ClusterWrite[] {
    const { operatorGate, pushGate } = this.member.cluster;
    return [operatorGate, pushGate]
      .flatMap((gate) => gate.writesTo('applicationinstances', name))
      .filter(({ verb, status, manager }) => verb === 'APPLY' && status < 300 && manager === this.transport.manager);
  }

  /** The control plane ends before it has stored that intents were delivered; answers when it is there again. */
  async loseReceipt(...intentIds: readonly string[]): Promise<void> {
    await this.plane.stop();
    for (const id of intentIds) {
      await this.plane.execute('DELETE FROM receipts WHERE intent_id = ?', id);
      await this.plane.execute(
        `UPDATE intents SET state = 'accepted', delivered_at = NULL, applied_at = NULL, ready_at = NULL WHERE id = ?`,
        id,
      );
    }
    await this.plane.startAgain();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

function asMark({ verb, path }: ClusterWrite): string {
  return `${verb} ${path}`;
}

/** Carried out, and about what the application is made of. */
function isAbout({ path, dryRun, status }: ClusterWrite, name: string): boolean {
  const [, plural = '', object = ''] = /\/namespaces\/[^/]+\/([^/]+)\/([^/]+)/.exec(path) ?? [];
  return !dryRun && status < 300 && PARTS.includes(plural) && (object === name || object.startsWith(`${name}-`));
}
