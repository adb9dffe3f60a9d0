import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { refOf } from '../../src/resources/kube-object.ts';
import { CHART_URL, anInstance } from '../reconcile/manifests.ts';
import { CLUSTER_ID, FakeControlPlane } from './fake-control-plane.ts';
import { decoded, OperatorWorld } from './operator-world.ts';

const CATALOG = [
  { entry: 'podinfo', chart: { type: 'oci', url: CHART_URL, name: 'podinfo' }, versions: '>=6.5.0 <7' },
] as const;

async function registered(plane: FakeControlPlane, world: OperatorWorld): Promise<void> {
  plane.accounts.set('svcreg_a', 'fresh');
  plane.configure({ catalog_entries: [...CATALOG] });
  await world.join(plane.url, 'svcreg_a');
  await world.until('ControllersHealthy', 'True', 'ControllersRunning');
  await expect.poll(() => plane.events.length, { timeout: 30_000 }).toBeGreaterThan(2);
}

function transitions(plane: FakeControlPlane): string[] {
  return plane.events
    .filter(({ kind }) => kind === 'ConditionTransition')
    .map(({ resourceRef, conditions: [condition] }) => `${resourceRef.kind} ${condition?.type}=${condition?.status}`);
}

function counters(plane: FakeControlPlane): number[] {
  return plane.events.map(({ sequence }) => Number(sequence?.split('.')[1]));
}

describe('the operator', () => {
  it('reports its Cluster and what it reconciles, each change once, numbered in order', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await world.start();
    await registered(plane, world);
    await world.cluster.api.create(anInstance(), 'test');
    await expect.poll(() => transitions(plane), { timeout: 30_000 }).toContain('ApplicationInstance Ready=False');
    const seen = transitions(plane);
    expect(seen).toEqual(expect.arrayContaining(['Cluster Authenticated=True', 'Cluster Connected=True']));
    expect(new Set(plane.events.map(({ eventKey }) => eventKey)).size).toBe(plane.events.length);
    expect(counters(plane)).toEqual(counters(plane).toSorted((a, b) => a - b));
    expect(plane.events.find(({ resourceRef }) => resourceRef.kind === 'ApplicationInstance')?.source).toMatchObject({
      mode: 'pull',
      epoch: 1,
      intentId: 'int-1',
      generation: 1,
    });
    expect(plane.requests.filter(({ path }) => path === '/api/agent/events')[0]?.body).toMatchObject({
      cluster_id: CLUSTER_ID,
    });
  });

  it('is quiet when nothing happens', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await world.start();
    await registered(plane, world);
    await world.until('Connected', 'True', 'ControlPlaneReachable');
    const still = async (): Promise<unknown> => ({
      posts: plane.count('/api/agent/events'),
      version: (await world.read()).metadata.resourceVersion,
    });
    await expect
      .poll(
        async () => {
          const before = await still();
          await new Promise((resolve) => {
            setTimeout(resolve, 200);
          });
          return JSON.stringify(await still()) === JSON.stringify(before);
        },
        { timeout: 30_000 },
      )
      .toBe(true);
  });

  it('goes on while the control plane is away, and everything arrives afterwards in order', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    const operator = await world.start();
    await registered(plane, world);
    const port = Number(new URL(plane.url).port);
    await plane.close();
    const before = plane.events.length;
    await world.cluster.api.create(anInstance({ name: 'first' }), 'test');
    await world.cluster.api.create(anInstance({ name: 'second', version: '9.0.0' }), 'test');
    const lost = await world.until('Connected', 'False', 'ControlPlaneUnreachable');
    expect(lost.message).toMatch(
      /^The control plane does not answer: .*ECONNREFUSED.* Reconciliation goes on with what is known\.$/,
    );
    const metrics = await (await fetch(`${operator.probesUrl}/metrics`)).text();
    expect(metrics).toContain('service_operator_connectivity{mode="pull",state="disconnected"} 1');
    expect(plane.events).toHaveLength(before);
    await plane.listen(port);
    await world.until('Connected', 'True', 'ControlPlaneReachable');
    await expect
      .poll(() => transitions(plane).slice(before), { timeout: 10_000 })
      .toEqual(
        expect.arrayContaining([
          'Cluster Connected=False',
          'ApplicationInstance Stalled=True',
          'Cluster Connected=True',
        ]),
      );
    expect(counters(plane)).toEqual(counters(plane).toSorted((a, b) => a - b));
  });

  it('reconciles after a restart by what it was told last, without a control plane', async () => {
    const plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    const first = await world.start();
    await registered(plane, world);
    await world.stop(first);
    await plane.close();
    const numbers = counters(plane);
    const second = await world.start();
    await world.cluster.api.create(anInstance(), 'test');
    await expect
      .poll(
        async () =>
          await world.cluster.api.get({
            apiVersion: 'helm.toolkit.fluxcd.io/v2',
            kind: 'HelmRelease',
            namespace: 'shop',
            name: 'podinfo',
          }),
        { timeout: 10_000 },
      )
      .toMatchObject({ metadata: { labels: { 'app.service.io/application-instance': 'podinfo' } } });
    await plane.listen(Number(new URL((await world.read()).spec.controlPlaneBaseUrl).port));
    await expect.poll(() => transitions(plane), { timeout: 15_000 }).toContain('ApplicationInstance Ready=False');
    // Greater than every number before the restart.
    expect(
      counters(plane)
        .slice(numbers.length)
        .every((number) => number > Math.max(...numbers)),
    ).toBe(true);
    await world.stop(second);
    await plane.close();
  });

  it('tells after a restart what an earlier process wrote and could not post', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    const first = await world.start();
    await registered(plane, world);
    const port = Number(new URL(plane.url).port);
    await plane.close();
    await world.cluster.api.create(anInstance({ version: '9.0.0' }), 'test');
    await expect
      .poll(async () => await world.cluster.api.get(refOf(anInstance())), { timeout: 30_000 })
      .toMatchObject({
        status: { conditions: expect.arrayContaining([expect.objectContaining({ type: 'Stalled' })]) },
      });
    await world.stop(first);
    await plane.listen(port);
    await world.start();
    await expect.poll(() => transitions(plane), { timeout: 30_000 }).toContain('ApplicationInstance Stalled=True');
  });

  it('follows a change of what is allowed at once', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await world.start();
    await registered(plane, world);
    await world.cluster.api.create(anInstance({ name: 'late', version: '7.1.0' }), 'test');
    await expect.poll(() => transitions(plane), { timeout: 30_000 }).toContain('ApplicationInstance Stalled=True');
    plane.configure({ catalog_entries: [{ ...CATALOG[0], versions: '>=6.5.0' }], delivery_epoch: 2 });
    await expect
      .poll(async () => (await world.read()).status, { timeout: 30_000 })
      .toMatchObject({ deliveryEpoch: 2, catalogEntries: [{ versions: '>=6.5.0' }] });
    await expect.poll(() => transitions(plane), { timeout: 30_000 }).toContain('ApplicationInstance Reconciling=True');
  });

  it('says that its credential is refused, sends nothing more, and resumes with a fresh registration token', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    await world.start();
    await registered(plane, world);
    plane.revoke();
    plane.configure({ delivery_epoch: 2 });
    const refused = await world.until('Authenticated', 'False', 'CredentialRefused');
    expect(refused.message).toBe(
      'The control plane refuses this operator (invalid_token): this token is not known. Issue a fresh registration token (servicectl clusters registration-token <cluster>) and give it to this operator: service-operator register --token-file=<file>, or spec.registration.token. The operator goes on reconciling what it has, and asks again every 15 minutes.',
    );
    const sent = plane.requests.length;
    await world.cluster.api.create(anInstance(), 'test');
    await expect
      .poll(
        async () =>
          (await world.cluster.api.list({ apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' })).items.length,
      )
      .toBe(1);
    expect(plane.requests).toHaveLength(sent);
    plane.accounts.set('svcreg_b', 'fresh');
    await world.setSpec({ registration: { token: 'svcreg_b' } });
    await world.until('Authenticated', 'True', 'Registered');
    await expect.poll(() => transitions(plane), { timeout: 30_000 }).toContain('ApplicationInstance Ready=False');
    expect(transitions(plane)).toContain('Cluster Authenticated=False');
  });

  it('writes no credential to its log, to events or to the Cluster', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    const lines: string[] = [];
    const sink = new Writable({
      write(part: Buffer, _encoding, done) {
        lines.push(String(part));
        done();
      },
    });
    await world.start(undefined, pino({ level: 'trace' }, sink));
    await registered(plane, world);
    plane.revoke();
    plane.configure({ delivery_epoch: 2 });
    await world.until('Authenticated', 'False', 'CredentialRefused');
    const privateKey = (JSON.parse(decoded(await world.secret('service-operator-keypair'), 'current')) as { d: string })
      .d;
    const { status } = await world.read();
    const said = JSON.stringify([lines, plane.events, status]);
    expect(lines.length).toBeGreaterThan(1);
    for (const secret of ['svcreg_a', 'svcagt_1', privateKey]) {
      expect(said).not.toContain(secret);
      expect(said).not.toContain(Buffer.from(secret).toString('base64').replace(/=+$/, ''));
    }
  });

  it('is ready once it sees the cluster, whether or not there is a Cluster resource', async () => {
    await using world = await OperatorWorld.start();
    const operator = await world.start();
    const get = async (path: string): Promise<string> => {
      const answer = await fetch(`${operator.probesUrl}${path}`);
      return `${answer.status} ${await answer.text()}`;
    };
    await expect.poll(async () => await get('/readyz')).toBe('200 ok\n');
    expect(await get('/healthz')).toBe('200 ok\n');
    expect(await get('/')).toBe('404 here are /healthz, /readyz and /metrics\n');
    expect(await get('/metrics')).toContain('service_operator_events_dropped_total 0');
  });
});
