import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { ChartShelf, demoCharts } from '../../src/sandbox/release-controller/chart-shelf.ts';
import { startReleaseController } from '../../src/sandbox/release-controller/start-release-controller.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { LookingClock } from '../support/looking-clock.ts';
import { OperatorWorld } from './operator-world.ts';

/** A control plane, a cluster with a release controller, and an operator, joined in gitops mode. */
class WholeSystem implements AsyncDisposable {
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

  static async start(clock: Clock = systemClock): Promise<WholeSystem> {
    await using owned = new AsyncDisposableStack();
    const plane = owned.use(await RunningControlPlane.start(clock));
    const world = owned.use(await OperatorWorld.start());
    const api = owned.use(
      connectCluster({
        kubeconfig: { kind: 'text', yaml: world.cluster.sandbox.kubeconfig() },
        userAgent: 'release-controller',
        clock: systemClock,
        random: Math.random,
      }),
    );
    owned.use(
      startReleaseController({
        api,
        clock: systemClock,
        logger: createLogger('test', 'silent'),
        charts: new ChartShelf(demoCharts()),
        timing: { fetchMs: 0, installMs: 0, upgradeMs: 0, uninstallMs: 0 },
      }),
    );
    await plane.putPodinfo();
    const created = await plane.call('POST', '/clusters', {
      slug: 'eu',
      displayName: 'Europe',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: [],
      connectivityMode: 'gitops',
    });
    const id = String(created.body['cluster'].id);
    await plane.call('PATCH', `/clusters/${id}`, { intervals: { eventBatchMs: 20 } });
    await world.join(plane.url, String(created.body['registrationToken']));
    await world.start();
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

describe('an intent on its way to a cluster and back', () => {
  it('is committed, synced, released and reported ready; an upgrade keeps the object; an uninstall removes it', async () => {
    await using system = await WholeSystem.start();
    await system.bring(INSTALL, 'ready');
    const installed = await system.instance('podinfo');
    expect(installed?.metadata.labels).toMatchObject({
      'app.service.io/managed-by': 'control-plane',
      'app.service.io/cluster-id': system.clusterId,
    });
    const { status } = await system.world.read();
    await expect
      .poll(async () => (await system.plane.call('GET', `/clusters/${system.clusterId}`)).body['appliedRevision'])
      .toBe(status?.appliedRevision);

    await system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
    expect((await system.instance('podinfo'))?.metadata.uid).toBe(installed?.metadata.uid);
    await system.bring({ action: 'uninstall', namespace: 'shop', name: 'podinfo' }, 'removed');
    expect(await system.instance('podinfo')).toBeUndefined();
  });

  it('stays as it is when a file is removed by hand, which is reported, and nonsense beside it is named', async () => {
    await using system = await WholeSystem.start();
    await system.bring(INSTALL, 'ready');
    const before = await system.instance('podinfo');
    system.editByHand((clone) => {
      rmSync(join(clone, 'clusters/eu/apps/shop/podinfo.yaml'));
      writeFileSync(join(clone, 'clusters/eu/apps/shop/nonsense.yaml'), 'kind: [what');
    });
    await system.bring({ ...INSTALL, name: 'second' }, 'ready');

    const removed = await system.world.until('RemovedWithoutTombstone', 'True', 'FileRemoved');
    expect(removed.message).toContain('ApplicationInstance shop/podinfo');
    const synced = await system.world.until('Synced', 'False', 'ManifestInvalid');
    expect(synced.message).toContain('apps/shop/nonsense.yaml');
    const after = await system.instance('podinfo');
    expect({ uid: after?.metadata.uid, deleted: after?.metadata.deletionTimestamp }).toEqual({
      uid: before?.metadata.uid,
      deleted: undefined,
    });
    await expect
      .poll(async () => {
        const { body } = await system.plane.call('GET', `/clusters/${system.clusterId}`);
        const conditions = body['conditions'] as readonly { type: string; status: string }[];
        return conditions.filter(({ type }) => type === 'RemovedWithoutTombstone' || type === 'Synced');
      })
      .toEqual([
        expect.objectContaining({ type: 'RemovedWithoutTombstone', status: 'True' }),
        expect.objectContaining({ type: 'Synced', status: 'False' }),
      ]);
  });

  it('keeps everything and says so, to the operator too, when the whole directory is removed by hand', async () => {
    const clock = new LookingClock();
    await using system = await WholeSystem.start(clock);
    await system.bring(INSTALL, 'ready');
    await system.bring({ ...INSTALL, name: 'second' }, 'ready');
    system.editByHand((clone) => rmSync(join(clone, 'clusters/eu/apps/shop/second.yaml')));
    clock.look();
    const before = await system.world.until('RemovedWithoutTombstone', 'True', 'FileRemoved');
    system.editByHand((clone) => rmSync(join(clone, 'clusters/eu'), { recursive: true }));
    clock.look();
    const synced = await system.world.until('Synced', 'False', 'SourceUnreachable');
    expect(synced.message).toContain('has no manifest any more');
    // What was known of the file that vanished before is not taken back.
    expect(await system.world.until('RemovedWithoutTombstone', 'True', 'FileRemoved')).toEqual(before);
    expect((await system.instance('podinfo'))?.metadata.deletionTimestamp).toBeUndefined();
    expect((await system.instance('second'))?.metadata.deletionTimestamp).toBeUndefined();
  });
});
