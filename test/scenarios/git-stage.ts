import { expect } from 'vitest';
import { manifestText } from '../../src/intent/manifest-text.ts';
import type { Tombstone } from '../../src/intent/rendered.ts';
import type { GitSourceConfig } from '../../src/protocol/agent-config.ts';
import { findCondition } from '../../src/resources/conditions.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { GitHttp } from '../delivery/gitops/read/git-http.ts';
import { GitRemote } from '../delivery/gitops/read/git-remote.ts';
import { FakeControlPlane } from '../operator/fake-control-plane.ts';
import { OperatorWorld } from '../operator/operator-world.ts';
import { playReleases } from '../operator/play-releases.ts';
import { anInstance, aTombstone, CHART_URL, type InstanceOptions } from '../reconcile/manifests.ts';

export const DIRECTORY = 'clusters/eu';
const OTHERS = 'clusters/us/apps/shop/other.yaml';

export const fileOf = (name: string): string => `${DIRECTORY}/apps/shop/${name}.yaml`;

/** What the message of held removals says to accept them by. */
export const acceptanceIn = (message: string): string =>
  /--revision ([0-9a-f]{40}@[0-9a-f]{32}),/.exec(message)?.[1] ?? 'nothing';

/**
 * A running operator over a Git remote that a test writes to as anyone could, past every check of a control plane; with a
 * stand-in for Flux, and every DELETE of an application counted.
 */
export class GitStage implements AsyncDisposable {
  readonly remote: GitRemote;
  readonly host: GitHttp;
  readonly plane: FakeControlPlane;
  readonly world: OperatorWorld;
  /** Of applications and what is made of them: `<kind>/<name>` of each DELETE. */
  readonly deletes: string[] = [];
  #settings: Partial<GitSourceConfig> = {};
  readonly #owned: AsyncDisposableStack;

  private constructor(parts: Pick<GitStage, 'remote' | 'host' | 'plane' | 'world'>, owned: AsyncDisposableStack) {
    this.remote = parts.remote;
    this.host = parts.host;
    this.plane = parts.plane;
    this.world = parts.world;
    this.#owned = owned;
    this.world.cluster.sandbox.faults.add({
      match: ({ method, path }) => {
        const part = /\/namespaces\/shop\/(\w+\/.+)$/.exec(path)?.[1];
        if (method === 'DELETE' && part !== undefined) this.deletes.push(part);
        return false;
      },
    });
  }

  /** An operator that has applied `names`, and from then on prunes or not. */
  static async start(
    names: readonly string[],
    settings: Partial<GitSourceConfig> = {},
    more: { readonly clock?: Clock; readonly upgradeMs?: number } = {},
  ): Promise<GitStage> {
    await using owned = new AsyncDisposableStack();
    const remote = owned.use(new GitRemote());
    const host = owned.use(await GitHttp.start(remote.folder));
    const plane = owned.use(
      await FakeControlPlane.start(undefined, {
        connectivity_mode: 'gitops',
        catalog_entries: [
          { entry: 'podinfo', chart: { type: 'oci', url: CHART_URL, name: 'podinfo' }, versions: '>=6.5.0 <7' },
        ],
      }),
    );
    const world = owned.use(await OperatorWorld.start());
    const charts = ['6.5.0', '6.6.1'].map((version) => ({
      url: CHART_URL,
      name: 'podinfo',
      version,
      appVersion: version,
      validate: () => undefined,
    }));
    owned.use(playReleases(world, charts, more.upgradeMs));
    plane.accounts.set('svcreg_a', 'fresh');
    await world.join(plane.url, 'svcreg_a');
    await world.start(more.clock ?? systemClock);
    const stage = new GitStage({ remote, host, plane, world }, owned.move());
    stage.#settings = settings;
    stage.push({ ...Object.fromEntries(names.map((name) => stage.file({ name }))), [OTHERS]: 'not ours: 1\n' });
    await stage.untilApplied();
    for (const name of names) await stage.untilReady(name);
    return stage;
  }

  file(options: InstanceOptions & { readonly name: string }): [string, string] {
    return [fileOf(options.name), manifestText({ ...anInstance(options) })];
  }

  tombstone(change: Partial<Tombstone> & { readonly name: string }): [string, string] {
    return [`${DIRECTORY}/tombstones/shop/${change.name}.json`, JSON.stringify(aTombstone(change))];
  }

  /** Pushes and, as the control plane does, says what is to be read. Answers the directory's revision. */
  push(files: Readonly<Record<string, string | null>>): string {
    this.remote.push(files);
    return this.tell();
  }

  tell(settings: Partial<GitSourceConfig> = {}): string {
    this.#settings = { ...this.#settings, ...settings };
    const revision = this.revision();
    this.plane.configure({
      git: { url: this.host.url, branch: 'main', path: DIRECTORY, desired_revision: revision, ...this.#settings },
    });
    return revision;
  }

  /** An empty tree where there is no directory. */
  revision(): string {
    try {
      return this.remote.treeOf(DIRECTORY);
    } catch {
      return '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
    }
  }

  async untilApplied(revision = this.revision()): Promise<void> {
    const applied = async (): Promise<unknown> => (await this.world.read()).status?.appliedRevision;
    await expect.poll(applied, { timeout: 15_000, interval: 10 }).toBe(revision);
  }

  /** Every file is back, and everything was applied as before. */
  async untilAppliedAgain(files: Readonly<Record<string, string>>): Promise<void> {
    await this.untilApplied(this.push(files));
    await this.world.until('Synced', 'True', 'Applied');
  }

  /** Resolves with the message of `Synced=False` of this reason for this revision. */
  async untilHeld(reason: string): Promise<string> {
    return (await this.world.until('Synced', 'False', reason)).message ?? '';
  }

  async untilReady(name: string, status = 'True', reason = 'HelmReleaseReady'): Promise<string> {
    let message = '';
    const ready = async (): Promise<string> => {
      const condition = findCondition((await this.read(name))?.status?.conditions ?? [], 'Ready');
      message = condition?.message ?? '';
      return `${condition?.status} ${condition?.reason}`;
    };
    await expect.poll(ready, { timeout: 15_000, interval: 10 }).toBe(`${status} ${reason}`);
    return message;
  }

  async untilGone(name: string): Promise<void> {
    await expect.poll(async () => await this.read(name), { timeout: 15_000, interval: 10 }).toBeUndefined();
  }

  async read(
    name: string,
    kind: 'ApplicationInstance' | 'HelmRelease' = 'ApplicationInstance',
  ): Promise<Reported | undefined> {
    const apiVersion = kind === 'HelmRelease' ? 'helm.toolkit.fluxcd.io/v2' : 'apps.service.io/v1alpha1';
    return await this.world.cluster.api.get<Reported>({ apiVersion, kind, namespace: 'shop', name });
  }

  /** By name: the UID of each instance, and whether it is being deleted. */
  async identities(): Promise<Record<string, string>> {
    const kind = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance' };
    const { items } = await this.world.cluster.api.list<KubeObject>(kind, { namespace: 'shop' });
    return Object.fromEntries(
      items.map(({ metadata: { name, uid, deletionTimestamp } }) => [
        name,
        `${uid}${deletionTimestamp === undefined ? '' : ' going'}`,
      ]),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

type Reported = KubeObject & {
  readonly status?: {
    readonly conditions?: {
      type: string;
      status: 'True' | 'False' | 'Unknown';
      reason?: string;
      message?: string;
      lastTransitionTime: string;
    }[];
    readonly release?: { readonly chartVersion?: string };
  };
};
