import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ConnectivityMode } from '../../src/protocol/connectivity-mode.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import type { Logger } from '../../src/runtime/logger.ts';
import { demoCharts } from '../../src/sandbox/release-controller/chart-shelf.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { OperatorWorld } from './operator-world.ts';
import { playReleases } from './play-releases.ts';

/** A control plane, a cluster with a release controller, and an operator, joined in the mode that is asked for. */
export class WholeSystem implements AsyncDisposable {
  readonly plane: RunningControlPlane;
  readonly world: OperatorWorld;
  readonly clusterId: string;
  readonly #owned: AsyncDisposableStack;

  private constructor(
    plane: RunningControlPlane,
    world: OperatorWorld,
    clusterId: string,
    owned: AsyncDisposableStack,
  ) {
    this.plane = plane;
    this.world = world;
    this.clusterId = clusterId;
    this.#owned = owned;
  }

  static async start(
    clock: Clock = systemClock,
    connectivityMode: ConnectivityMode = 'gitops',
    settings: Record<string, unknown> = {},
    more: {
      readonly env?: Readonly<Record<string, string>>;
      readonly operatorClock?: Clock;
      readonly logger?: Logger;
    } = {},
  ): Promise<WholeSystem> {
    await using owned = new AsyncDisposableStack();
    const plane = owned.use(await RunningControlPlane.start(clock, more.env, more.logger));
    const world = owned.use(await OperatorWorld.start());
    owned.use(playReleases(world, demoCharts()));
    await plane.putPodinfo();
    const created = await plane.call('POST', '/clusters', {
      slug: 'eu',
      displayName: 'Europe',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: [],
      connectivityMode,
      ...settings,
    });
    const id = String(created.body['cluster'].id);
    await plane.call('PATCH', `/clusters/${id}`, { intervals: { eventBatchMs: 20 } });
    await world.join(plane.url, String(created.body['registrationToken']));
    await world.start(more.operatorClock);
    await world.until('ControllersHealthy', 'True', 'ControllersRunning');
    return new WholeSystem(plane, world, id, owned.move());
  }

  /** Accepts an intent and waits until it has come to `state`. */
  async bring(intent: Record<string, unknown>, state: string): Promise<void> {
    const accepted = await this.plane.call('POST', `/clusters/${this.clusterId}/intents`, intent);
    expect(accepted.status).toBe(202);
    await this.plane.until(String(accepted.body['id']), state);
  }

  async instance(name: string): Promise<KubeObject | undefined> {
    const ref = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop', name };
    return await this.world.cluster.api.get(ref);
  }

  /** A person's commit on the branch, past the control plane. */
  editByHand(edit: (clone: string) => void): void {
    const folder = mkdtempSync(join(tmpdir(), 'by-hand-'));
    const git = (...args: string[]): void => {
      execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', '-C', folder, ...args], {
        stdio: 'pipe',
      });
    };
    git('clone', '--quiet', join(this.plane.folder, 'git', 'fleet.git'), '.');
    edit(folder);
    git('add', '--all');
    git('commit', '--quiet', '--message', 'by hand');
    git('push', '--quiet', 'origin', 'HEAD:main');
    rmSync(folder, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
