import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Condition } from '../../../src/protocol/condition.ts';
import { findCondition } from '../../../src/resources/conditions.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { anInstance } from '../../reconcile/manifests.ts';
import { startWebhookServer } from '../cluster-contract/webhook-server.ts';
import { instanceRef } from '../granted-cluster.ts';
import { START_TIMEOUT_MS } from '../real-cluster/real-cluster.ts';
import type { AdmissionCluster } from './admission-cluster.ts';
import { AdmissionWorld, byHand, hasKubectl, type Run } from './admission-world.ts';

const FLUX = 'flux';
/** What Flux and Argo CD put on all that they apply. */
const THEIR_LABELS = { 'kustomize.toolkit.fluxcd.io/name': 'apps', 'app.kubernetes.io/instance': 'apps' };

function good(name: string, namespace = 'shop', metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return byHand(anInstance({ name, namespace }), metadata);
}
function bad(name: string, namespace = 'shop'): KubeObject {
  return byHand(anInstance({ name, namespace, version: '7.0.0' }));
}
const admitted = (words: string) => ({ code: 0, out: expect.stringContaining(words) });

/** What the webhook must let through, and what it must not hold up, whatever becomes of it. */
export function admissionBlocksNothing(start: () => Promise<AdmissionCluster>): void {
  describe.skipIf(!hasKubectl)('what the webhook never blocks', { timeout: 90_000 }, () => {
    let world: AdmissionWorld;

    beforeAll(async () => {
      world = await AdmissionWorld.start(start);
      const system: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'flux-system' } };
      const metadata = { name: 'kustomize-controller', namespace: 'flux-system' };
      await world.apply([system, { apiVersion: 'v1', kind: 'ServiceAccount', metadata }]);
      await world.kubeconfig(FLUX, await world.cluster.kubeconfigOf('flux-system', 'kustomize-controller', 'all'));
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
    });

    const on = async (verb: string, name: string, ...args: string[]): Promise<Run> =>
      await world.kubectl([verb, 'applicationinstance', name, '-n', 'shop', ...args]);
    const patch = async (name: string, change: unknown): Promise<Run> =>
      await on('patch', name, '--type=merge', '-p', JSON.stringify(change));
    const applyAsFlux = async (object: KubeObject): Promise<Run> => {
      const how = ['--server-side', '--force-conflicts', '--field-manager=kustomize-controller'];
      return await world.kubectl(['apply', ...how, '-f', '-'], object, FLUX);
    };
    async function stalled(name: string): Promise<Condition | undefined> {
      const { status } = (await world.read(instanceRef(name))) ?? {};
      return findCondition(status?.['conditions'] as readonly Condition[] | undefined, 'Stalled');
    }
    async function untilGone(name: string, namespace = 'shop'): Promise<void> {
      const look = async (): Promise<void> =>
        expect((await world.read(instanceRef(name, namespace)))?.metadata).toBeUndefined();
      await vi.waitFor(look, { timeout: 60_000, interval: 100 });
    }

    it('a write while its server is gone, and the start of the operator with what was written', async () => {
      await world.stopOperator();
      for (const name of ['blocked', 'paused', 'mended']) {
        expect(await world.create(bad(name))).toEqual({
          code: 0,
          out: `applicationinstance.apps.service.io/${name} created\n`,
          err: '',
        });
      }
      await world.startOperator();
      await world.untilJudged();
      // Its own writes pass: the status of what is blocked, the finalizer of what is not.
      await vi.waitFor(async () => expect((await stalled('blocked'))?.reason).toBe('ChartNotAllowed'), 30_000);
      await world.create(good('fine'));
      const finalizers = async (): Promise<unknown> => (await world.read(instanceRef('fine')))?.metadata.finalizers;
      await vi.waitFor(async () => expect(await finalizers()).toEqual(['app.service.io/release']), 30_000);
    });

    it('pausing, suspending, labelling and annotating an object that is blocked', async () => {
      const answers = [
        await on('annotate', 'paused', 'ops.service.io/paused=true'),
        await on('label', 'blocked', 'team=web'),
        await on('annotate', 'blocked', 'example.com/note=later'),
        await on('annotate', 'blocked', 'app.service.io/tombstone=true'),
        await patch('blocked', { spec: { suspend: true } }),
        await patch('mended', { spec: { chart: { version: '6.5.0' } } }),
      ];
      expect(answers.map(({ code, err }) => [code, err.includes('denied')])).toEqual(answers.map(() => [0, false]));
      expect(answers[0]?.err).toContain('Warning: spec.chart.version 7.0.0 is outside >=6.5.0 <7');
      expect((await world.read(instanceRef('paused')))?.metadata.annotations).toEqual({
        'ops.service.io/paused': 'true',
      });
    });

    it('labels and annotations of others, on any object', async () => {
      const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'any', namespace: 'shop' } };
      await world.create(configMap);
      const answers = [
        await on('label', 'fine', 'team=web', 'app.kubernetes.io/part-of=shop'),
        await on('annotate', 'fine', 'example.com/note=x'),
        await world.kubectl(['annotate', 'configmap', 'any', '-n', 'shop', 'app.service.io/source=1.1']),
        await world.kubectl(['label', 'namespace', 'closed', 'team=web']),
        await world.kubectl([
          'annotate',
          'clusters.ops.service.io',
          'eu',
          '-n',
          'service-system',
          'example.com/note=x',
        ]),
      ];
      expect(answers.map(({ code, err }) => [code, err.includes('denied')])).toEqual(answers.map(() => [0, false]));
    });

    it('taking finalizers off, ours and of others, and deleting', async () => {
      expect(await patch('blocked', { metadata: { finalizers: ['example.com/hold'] } })).toMatchObject({ code: 0 });
      expect(await on('delete', 'blocked', '--wait=false')).toMatchObject(admitted('deleted'));
      expect((await world.read(instanceRef('blocked')))?.metadata.deletionTimestamp).toBeDefined();
      expect(await patch('blocked', { metadata: { finalizers: null } })).toMatchObject(admitted('patched'));
      await untilGone('blocked');
      expect(await patch('fine', { metadata: { finalizers: null } })).toMatchObject(admitted('patched'));
      for (const name of ['fine', 'paused', 'mended']) {
        expect(await on('delete', name, '--wait=false')).toMatchObject(admitted('deleted'));
      }
    });

    it('the end of a namespace with what is good and what is blocked', async () => {
      await world.grant('brief');
      await world.stopOperator();
      await world.create(bad('bad', 'brief'));
      await world.startOperator();
      await world.untilJudged();
      await world.create(good('good', 'brief'));
      expect(await world.kubectl(['delete', 'namespace', 'brief', '--wait=false'])).toMatchObject(admitted('deleted'));
      await untilGone('bad', 'brief');
      const release = { metadata: { finalizers: null } };
      const args = [
        'patch',
        'applicationinstance',
        'good',
        '-n',
        'brief',
        '--type=merge',
        '-p',
        JSON.stringify(release),
      ];
      // The RoleBinding goes with the namespace: then a person frees what the operator no longer may.
      if ((await world.read(instanceRef('good', 'brief'))) !== undefined) await world.kubectl(args);
      const gone = async (): Promise<void> =>
        expect(await world.read({ apiVersion: 'v1', kind: 'Namespace', name: 'brief' })).toBeUndefined();
      await vi.waitFor(gone, { timeout: 60_000, interval: 200 });
    });

    it('what Flux or Argo CD applies of a team’s own, though not what the control plane delivers', async () => {
      const own = good('of-flux', 'shop', { labels: THEIR_LABELS });
      expect(await applyAsFlux(own)).toMatchObject(admitted('serverside-applied'));
      const delivered = anInstance({ name: 'delivered', source: '1.1' });
      const created = await applyAsFlux(delivered);
      expect(created.code).toBe(1);
      expect(created.err).toContain(
        'denied the request: only the operator sets metadata.labels[app.service.io/cluster-id], ' +
          'metadata.labels[app.service.io/managed-by], metadata.annotations[app.service.io/intent-id], ' +
          'metadata.annotations[app.service.io/source]; leave that out',
      );
      expect(await world.create(delivered, 'operator')).toMatchObject({ code: 0 });
      // What is there already is not changed by it.
      expect(await applyAsFlux(delivered)).toMatchObject(admitted('serverside-applied'));
      const newer = await applyAsFlux(anInstance({ name: 'delivered', source: '1.2' }));
      expect(newer.code).toBe(1);
      expect(newer.err).toContain(
        'denied the request: only the operator sets metadata.annotations[app.service.io/source];',
      );
    });

    it('a write while its server hangs, for no longer than timeoutSeconds', async () => {
      const sockets = new Set<Socket>();
      const hanging = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
      hanging.listen(0, '127.0.0.1');
      await once(hanging, 'listening');
      await world.configure(`https://127.0.0.1:${(hanging.address() as AddressInfo).port}`);
      await vi.waitFor(
        async () => {
          await world.kubectl(['create', '--dry-run=server', '-f', '-'], good('probe'));
          expect(sockets.size).toBeGreaterThan(0);
        },
        { timeout: 40_000, interval: 100 },
      );
      const before = performance.now();
      expect(await world.create(bad('hung'))).toMatchObject(admitted('created'));
      const took = performance.now() - before;
      expect(took).toBeGreaterThan(2500);
      expect(took).toBeLessThan(10_000);
      expect(await on('delete', 'hung', '--wait=false')).toMatchObject(admitted('deleted'));
      for (const socket of sockets) socket.destroy();
      hanging.close();
    });

    it('a write while the configuration trusts nobody', async () => {
      await world.stopOperator();
      await using stranger = await startWebhookServer();
      stranger.reply = () => ({ allowed: false });
      await world.configure(stranger.url, { caBundle: stranger.ca });
      const look = async (): Promise<void> =>
        expect(await world.kubectl(['create', '--dry-run=server', '-f', '-'], good('probe'))).toMatchObject({
          code: 1,
        });
      await vi.waitFor(look, { timeout: 40_000, interval: 100 });
      await world.configure(stranger.url);
      const { connections } = stranger;
      const asked = async (): Promise<void> => {
        await world.kubectl(['create', '--dry-run=server', '-f', '-'], good('probe'));
        expect(stranger.connections).toBeGreaterThan(connections);
      };
      await vi.waitFor(asked, { timeout: 40_000, interval: 100 });
      const reviews = stranger.reviews.length;
      expect(await world.create(bad('untrusted'))).toMatchObject(admitted('created'));
      expect(stranger.reviews.length).toBe(reviews);
    });
  });
}
