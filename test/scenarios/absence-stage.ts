import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ConnectivityMode } from '../../src/protocol/connectivity-mode.ts';
import { findCondition } from '../../src/resources/conditions.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { WholeSystem } from '../operator/whole-system.ts';
import { freePorts } from '../support/real-cluster/free-ports.ts';

/** Kinds that an application is made of. */
const PARTS = ['applicationinstances', 'helmreleases', 'ocirepositories', 'secrets'] as const;

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
  readonly #data: string;
  readonly #writes: Write[] = [];

  private constructor(system: WholeSystem, data: string) {
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
    const data = mkdtempSync(join(tmpdir(), 'absence-'));
    const system = await WholeSystem.start(
      systemClock,
      mode,
      {},
      { SERVICE_LISTEN: `127.0.0.1:${port}`, SERVICE_DATABASE_URL: `sqlite:${join(data, 'control-plane.db')}` },
    );
    return new AbsenceStage(system, data);
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

  /** Until the instance is Ready, for this reason where one is given. */
  async untilReady(name: string): Promise<void> {
    await expect
      .poll(
        async () => {
          const { status } = (await this.system.instance(name)) as { status?: { conditions?: never[] } };
          return findCondition(status?.conditions, 'Ready')?.status;
        },
        { timeout: 15_000, interval: 20 },
      )
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
