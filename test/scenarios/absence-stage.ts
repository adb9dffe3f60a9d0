import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ConnectivityMode } from '../../src/protocol/connectivity-mode.ts';
import type { Condition } from '../../src/protocol/condition.ts';
import { findCondition } from '../../src/resources/conditions.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { NAMESPACE } from '../operator/operator-world.ts';
import { WholeSystem } from '../operator/whole-system.ts';
import { freePorts } from '../support/real-cluster/free-ports.ts';
import { SkippingClock } from '../support/skipping-clock.ts';

/** Kinds that an application is made of. */
const PARTS = ['applicationinstances', 'helmreleases', 'ocirepositories', 'secrets'] as const;

/** The Lease is renewed every 2 s, and lost after 8. */
const STEP_MS = 5000;

/** A request to the cluster's API server that may change something. */
export interface Write {
  readonly method: string;
  readonly path: string;
}

/**
 * A whole system whose control plane goes away, comes back and is put back to an older state, always at the same address;
 * and what is asked of the cluster's API server meanwhile.
 */
export class AbsenceStage implements AsyncDisposable {
  readonly system: WholeSystem;
  /** Of both programs. */
  readonly clock: SkippingClock;
  readonly #data: string;
  readonly #writes: Write[] = [];

  private constructor(system: WholeSystem, clock: SkippingClock, data: string) {
    this.clock = clock;
    this.system = system;
    this.#data = data;
    system.world.cluster.sandbox.faults.add({
      match: ({ method, path }) => {
        if (method !== 'GET') this.#writes.push({ method, path });
        return false;
      },
    });
  }

  static async start(mode: ConnectivityMode): Promise<AbsenceStage> {
    const [port] = await freePorts(1);
    const clock = new SkippingClock();
    const data = mkdtempSync(join(tmpdir(), 'absence-'));
    const system = await WholeSystem.start(
      clock,
      mode,
      {},
      {
        env: { SERVICE_LISTEN: `127.0.0.1:${port}`, SERVICE_DATABASE_URL: `sqlite:${join(data, 'control-plane.db')}` },
        operatorClock: clock,
      },
    );
    return new AbsenceStage(system, clock, data);
  }

  /** The control plane answers from these columns of the cluster's row, as it has not looked anything up yet. */
  async restartWith(columns: string): Promise<void> {
    const { plane, clusterId } = this.system;
    await plane.stop();
    await plane.execute(
      `UPDATE clusters SET ${columns}, config_revision = config_revision + 1 WHERE id = ?`,
      clusterId,
    );
    await plane.startAgain();
  }

  /** Lets so much time pass for an operator that leads, in steps that its Lease survives. */
  async pass(ms: number): Promise<void> {
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      namespace: NAMESPACE,
      name: 'service-operator',
    };
    for (let left = ms; left > 0; left -= STEP_MS) {
      this.clock.skip(STEP_MS);
      const from = this.clock.now().getTime() - STEP_MS / 2;
      const renewed = async (): Promise<number> => {
        const held = await this.system.world.cluster.api.get<KubeObject & { spec: { renewTime: string } }>(lease);
        return Date.parse(held?.spec.renewTime ?? '');
      };
      await expect.poll(renewed, { timeout: 10_000, interval: 1 }).toBeGreaterThan(from);
    }
  }

  /** Keeps a copy of the database, made while the control plane was stopped; it runs again afterwards. */
  async backUp(): Promise<() => void> {
    await this.system.plane.stop();
    const copy = mkdtempSync(join(this.#data, 'copy-'));
    for (const name of this.#files()) cpSync(join(this.#data, name), join(copy, name));
    await this.system.plane.startAgain();
    return () => {
      for (const name of this.#files()) rmSync(join(this.#data, name));
      cpSync(copy, this.#data, { recursive: true });
    };
  }

  /** Forgets what was asked of the cluster until now. */
  forgetWrites(): void {
    this.#writes.length = 0;
  }

  /** What was written of applications in their namespace since, by `method kind/name`; status writes apart. */
  writes(methods: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']): string[] {
    return this.#writes.flatMap(({ method, path }) => {
      const [, kind = '', rest = ''] = /\/namespaces\/shop\/([^/]+)(.*)$/.exec(path) ?? [];
      const isPart = (PARTS as readonly string[]).includes(kind) && !rest.endsWith('/status');
      return isPart && methods.includes(method) ? [`${method} ${kind}${rest}`] : [];
    });
  }

  /** By kind and name: the UID, and whether the object is being deleted. */
  async identities(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    const kinds = [
      { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance' },
      { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' },
      { apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'OCIRepository' },
    ];
    for (const kind of kinds) {
      const { items } = await this.system.world.cluster.api.list<KubeObject>(kind, { namespace: 'shop' });
      for (const { metadata } of items) {
        const end = metadata.deletionTimestamp === undefined ? '' : ' (being deleted)';
        found[`${kind.kind} ${metadata.name}`] = `${metadata.uid}${end}`;
      }
    }
    return found;
  }

  async conditions(name: string): Promise<readonly Condition[]> {
    const instance = (await this.system.instance(name)) as { status?: { conditions?: Condition[] } } | undefined;
    return instance?.status?.conditions ?? [];
  }

  /** Of the chart that the instance asks for. */
  async chartVersion(name: string): Promise<string | undefined> {
    const instance = (await this.system.instance(name)) as { spec?: { chart?: { version?: string } } } | undefined;
    return instance?.spec?.chart?.version;
  }

  /** Of the chart that is released, as the instance says. */
  async releasedVersion(name: string): Promise<string | undefined> {
    type Released = { status?: { release?: { chartVersion?: string } } } | undefined;
    const instance = (await this.system.instance(name)) as Released;
    return instance?.status?.release?.chartVersion;
  }

  /** What the control plane has of the operator's events, in the order in which they came. */
  events(): readonly { readonly seq: number; readonly sequence: string }[] {
    const rows = this.system.plane.query(
      "SELECT seq, sequence FROM events WHERE cluster_id = ? AND kind <> 'ClusterHeartbeat' ORDER BY seq",
      this.system.clusterId,
    );
    return rows.map(({ seq, sequence }) => ({ seq: Number(seq), sequence: String(sequence) }));
  }

  /** The number of the last of them. */
  get newestEvent(): number {
    return this.events().at(-1)?.seq ?? 0;
  }

  /** Names of the journal's Secrets: one for each job that has no result yet. */
  async journal(): Promise<readonly string[]> {
    const { items } = await this.system.world.cluster.api.list(
      { apiVersion: 'v1', kind: 'Secret' },
      { namespace: NAMESPACE },
    );
    return items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('service-operator-job-'));
  }

  /** Until the instance is Ready. */
  async untilReady(name: string): Promise<void> {
    await expect
      .poll(async () => findCondition(await this.conditions(name), 'Ready')?.status, {
        timeout: 15_000,
        interval: 20,
      })
      .toBe('True');
  }

  /** Entries of the audit of this kind, the newest first. */
  async audited(kind: string): Promise<readonly { readonly summary: string; readonly source: string }[]> {
    const { body } = await this.system.plane.call('GET', `/audit?kind=${kind}&limit=100`);
    return body['items'] as readonly { readonly summary: string; readonly source: string }[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.system[Symbol.asyncDispose]();
    rmSync(this.#data, { recursive: true, force: true, maxRetries: 3 });
  }

  #files(): string[] {
    return readdirSync(this.#data).filter((name) => name.startsWith('control-plane.db'));
  }
}
