import { describe, expect, it } from 'vitest';
import { SelfUpgrade } from '../../src/operator/self-upgrade.ts';
import { upgradeImage } from '../../src/operator/upgrade-image.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { logger, startTestCluster, type TestCluster } from '../reconcile/test-cluster.ts';

const REF = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'service-system', name: 'service-operator' };
const IMAGE = 'registry.example:5000/service/operator:v0.1.0';

interface Told {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** An operator of version 0.1.0 beside its Deployment. */
class Upgrading implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly clock = new ManualClock();
  readonly told: Told[] = [];
  readonly upgrade: SelfUpgrade;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  private constructor(cluster: TestCluster) {
    this.cluster = cluster;
    this.upgrade = new SelfUpgrade({
      api: cluster.api,
      namespace: 'service-system',
      version: '0.1.0',
      clock: this.clock,
      random: () => 0,
      logger,
      onCondition: ({ status, reason = '', message = '' }) => {
        const last = this.told.at(-1);
        if (last?.reason !== reason || last.message !== message) this.told.push({ status, reason, message });
      },
    });
    this.#running = this.upgrade.run(this.#stop.signal);
  }

  static async start(image: string | undefined): Promise<Upgrading> {
    const cluster = await startTestCluster();
    if (image !== undefined) {
      const containers = [
        { name: 'sidecar', image: 'other:v0.1.0' },
        { name: 'operator', image },
      ];
      const spec = {
        replicas: 2,
        selector: { matchLabels: { app: 'x' } },
        template: { metadata: { labels: { app: 'x' } }, spec: { containers } },
      };
      await cluster.api.create({ ...REF, metadata: { ...REF }, spec }, 'test');
    }
    return new Upgrading(cluster);
  }

  async until(reason: string): Promise<Told> {
    await expect
      .poll(() => {
        this.clock.advance(5000);
        return this.told.at(-1)?.reason;
      })
      .toBe(reason);
    return this.told.at(-1) ?? { status: '', reason: '', message: '' };
  }

  async images(): Promise<unknown> {
    const { spec } = (await this.cluster.api.get<KubeObject & { spec: any }>(REF)) ?? {}; // oxlint-disable-line typescript/no-explicit-any
    return spec?.template.spec.containers.map((container: { image: string }) => container.image);
  }

  /** As the Deployment's controller tells. */
  async rollout(status: Record<string, unknown>): Promise<void> {
    const { metadata } = (await this.cluster.api.get(REF)) ?? { metadata: { generation: 0 } };
    const seen = { observedGeneration: metadata.generation, ...status };
    await this.cluster.api.mergePatch(REF, { status: seen }, { subresource: 'status' });
  }

  refuse(method: string): () => void {
    return this.cluster.sandbox.faults.add({
      match: (request) => request.method === method && request.path.includes('/deployments/'),
      respond: { status: 403, body: '{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}' },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.cluster[Symbol.asyncDispose]();
  }
}

describe('an upgrade that the control plane asks for', () => {
  it('replaces the tag of its own container, shows how the pods come, and is taken back the same way', async () => {
    await using it = await Upgrading.start(IMAGE);
    it.upgrade.want('0.2.0');
    await it.until('UpgradeInProgress');
    await expect
      .poll(async () => await it.images())
      .toEqual(['other:v0.1.0', 'registry.example:5000/service/operator:v0.2.0']);
    await it.rollout({ replicas: 3, updatedReplicas: 1, readyReplicas: 2 });
    await expect
      .poll(() => {
        it.clock.advance(5000);
        return it.told.at(-1)?.message;
      })
      .toBe('To 0.2.0: 1 of 2 pods are new, 2 of 3 are ready.');
    const stuck = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'timed out' };
    await it.rollout({ replicas: 3, updatedReplicas: 1, readyReplicas: 2, conditions: [stuck] });
    expect(await it.until('UpgradeFailed')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('The pods of 0.2.0 do not become ready: timed out. 0.1.0 goes on.'),
    });
    it.upgrade.want('0.1.0');
    await expect.poll(async () => await it.images()).toEqual(['other:v0.1.0', IMAGE]);
    await it.rollout({ replicas: 2, updatedReplicas: 2, readyReplicas: 2, conditions: null });
    expect(await it.until('OperatorCurrent')).toMatchObject({ status: 'True' });
  });

  it('reads and writes nothing where no version is asked for', async () => {
    await using it = await Upgrading.start(IMAGE);
    let asked = 0;
    it.cluster.sandbox.faults.add({
      match: ({ path }) => {
        asked += path.includes('/deployments/') ? 1 : 0;
        return false;
      },
    });
    it.clock.advance(3_600_000);
    await it.cluster.api.version();
    expect([asked, it.told]).toEqual([0, []]);
  });

  it.each(['GET', 'PATCH'])(
    'gives the command where %s is forbidden, and goes on once the Role is there',
    async (verb) => {
      await using it = await Upgrading.start(IMAGE);
      const grant = it.refuse(verb);
      it.upgrade.want('0.2.0');
      const image = verb === 'GET' ? '<repository>:0.2.0' : 'registry.example:5000/service/operator:v0.2.0';
      expect(await it.until('UpgradeNotAllowed')).toMatchObject({
        status: 'False',
        message: expect.stringContaining(
          `kubectl -n service-system set image deployment/service-operator operator=${image}`,
        ),
      });
      if (verb === 'PATCH') expect(await it.images()).toEqual(['other:v0.1.0', IMAGE]);
      grant();
      await it.until('UpgradeInProgress');
    },
  );

  it('is only told of outside a cluster, where there is no Deployment', async () => {
    await using it = await Upgrading.start(undefined);
    it.upgrade.want('0.2.0');
    await it.until('UpgradeNotAllowed');
    it.upgrade.want('0.1.0');
    expect(await it.until('OperatorCurrent')).toMatchObject({ status: 'True' });
  });

  it('leaves a pinned image alone', async () => {
    const image = `registry.example/operator@sha256:${'a'.repeat(64)}`;
    await using it = await Upgrading.start(image);
    it.upgrade.want('0.2.0');
    const { message } = await it.until('UpgradePinned');
    expect(message).toContain(`the image ${image} is pinned by its digest`);
    expect(await it.images()).toEqual(['other:v0.1.0', image]);
  });

  it('touches nothing when the image was changed meanwhile', async () => {
    await using it = await Upgrading.start(IMAGE);
    let bodies = 0;
    it.cluster.sandbox.faults.add({
      match: ({ method, path }) => method === 'PATCH' && path.includes('/deployments/') && (bodies += 1) === 1,
      respond: {
        status: 422,
        body: '{"kind":"Status","code":422,"reason":"Invalid","message":"the server rejected our request due to an error in our request"}',
      },
    });
    it.upgrade.want('0.2.0');
    await it.until('UpgradeInProgress');
    expect(bodies).toBe(2);
  });
});

describe('the image of another version', () => {
  it.each([
    ['operator:0.1.0', 'operator:0.2.0'],
    ['ghcr.io/x/operator:v0.1.0', 'ghcr.io/x/operator:v0.2.0'],
    ['localhost:5000/operator:0.1.0-rc.1', 'localhost:5000/operator:0.2.0'],
  ])('of %s is %s', (image, next) => {
    expect(upgradeImage(image, '0.2.0')).toMatchObject({ state: 'tagged', image: next });
  });

  it.each([
    'operator',
    'localhost:5000/operator',
    'operator:latest',
    'operator:2026-11-28',
    'operator:0.1.0@sha256:aa',
  ])('is not guessed for %s', (image) => {
    expect(upgradeImage(image, '0.2.0').state).toBe('pinned');
  });
});
