import { describe, expect, it } from 'vitest';
import { aNamespace, anInstance } from '../../reconcile/manifests.ts';
import { applyJob, deleteJob, JobStage } from './job-stage.ts';

const past = (): string => new Date(Date.now() - 1000).toISOString();

describe('what a job comes to', () => {
  it('expired: noop, and nothing is applied', async () => {
    await using stage = await JobStage.start();
    stage.plane.queue.put(applyJob('j1', {}, { expiresAt: past() }));
    expect(await stage.result('j1')).toBe('noop: expired');
    expect(await stage.instance()).toBeUndefined();
  });

  it('another field manager owns a field: conflict that names manager and field, and nothing is written', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { queue } = stage.plane;
    queue.put(applyJob('j1'));
    expect(await stage.result('j1')).toBe('succeeded');
    const edited = anInstance({ version: '6.6.0' });
    await stage.world.cluster.api.apply(
      { ...edited, metadata: { name: 'podinfo', namespace: 'shop' }, spec: { chart: edited.spec.chart } },
      { fieldManager: 'kubectl-edit', force: true },
    );
    queue.put(applyJob('j2', { source: '1.2', version: '6.6.1' }));
    expect(await stage.result('j2')).toMatch(/^conflict: field manager "kubectl-edit" owns \.spec\.chart\.version/);
    expect((await stage.instance())?.['spec']).toMatchObject({ chart: { version: '6.6.0' } });
  });

  it('an object that somebody else made: conflict that says how to hand it over', async () => {
    await using stage = await JobStage.start();
    const mine = anInstance();
    await stage.world.cluster.api.create({ ...mine, metadata: { name: 'podinfo', namespace: 'shop' } }, 'kubectl');
    stage.plane.queue.put(applyJob('j1'));
    expect(await stage.result('j1')).toMatch(/^conflict: the object exists and was not brought by the control plane/);
  });

  it('a namespace that is not allowed, or a kind that no job may bring: failed', async () => {
    await using stage = await JobStage.start();
    const { queue } = stage.plane;
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', namespace: 'shop' }, data: {} };
    queue.put(
      applyJob('j1', { namespace: 'kube-system' }),
      applyJob('j2', {}, { payload: secret, idempotencyKey: 'secret/shop/x@1' }),
    );
    expect(await stage.result('j1')).toBe(
      'failed: NamespaceNotAllowed: namespace kube-system is not allowed for this cluster; allowed: shop',
    );
    expect(await stage.result('j2')).toMatch(/^failed: payload: v1\/Secret is not taken; allowed: /);
  });

  it('a manifest that breaks its schema: failed, with the place of the fault', async () => {
    await using stage = await JobStage.start();
    const { spec, ...rest } = anInstance();
    const payload = { ...rest, spec: { ...spec, chart: { ...spec.chart, version: 6 } } };
    stage.plane.queue.put(applyJob('j1', {}, { payload }));
    expect(await stage.result('j1')).toMatch(/^failed: payload: .*\/spec\/chart\/version/);
  });

  it('a job of a kind that this operator does not know: failed, and the others go on', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { queue } = stage.plane;
    queue.put({ ...applyJob('j1'), kind: 'scale' as 'apply' }, applyJob('j2'));
    expect(await stage.result('j1')).toMatch(/^failed: this operator version cannot read the job: .*kind/);
    expect(await stage.result('j2')).toBe('succeeded');
  });

  it('a namespace that is not there yet: waits with a status that says so, and is applied once it is', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { plane, world } = stage;
    plane.configure({ allowed_namespaces: ['shop', 'later'] });
    plane.queue.put(applyJob('j1', { namespace: 'later' }));
    await expect
      .poll(() => plane.queue.get('j1').statuses.map(({ phase, message }) => `${phase}: ${message}`), {
        timeout: 30_000,
      })
      .toEqual([
        expect.stringMatching(/^Applying: not applied yet: namespace later does not exist; .* tried again until /),
      ]);
    const synced = await world.until('Synced', 'False', 'ApplyFailed');
    expect(synced.message).toContain('namespace later does not exist');
    await world.cluster.api.create(aNamespace('later'), 'test');
    expect(await stage.result('j1')).toBe('succeeded');
    await world.until('Synced', 'True', 'Applied');
  });

  it('a Cluster that is paused: waits, and is applied once it is not', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { plane, world } = stage;
    await world.annotate({ 'ops.service.io/paused': 'true' });
    plane.queue.put(applyJob('j1'));
    await expect.poll(() => plane.queue.get('j1').statuses[0]?.phase, { timeout: 30_000 }).toBe('Applying');
    expect(await stage.instance()).toBeUndefined();
    await world.annotate({ 'ops.service.io/paused': null });
    expect(await stage.result('j1')).toBe('succeeded');
  });

  it('a release that fails: failed with its words', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    stage.plane.queue.put(applyJob('j1', { spec: { values: { replicaCount: -1 } } }));
    expect(await stage.result('j1')).toMatch(/^failed: HelmReleaseInstallFailed: .*must be greater than or equal to 0/);
    expect(stage.plane.queue.get('j1').results[0]?.appliedRef).toMatchObject({ kind: 'ApplicationInstance' });
  });

  it('an operation of a template that this operator does not know: failed', async () => {
    await using stage = await JobStage.start();
    stage.plane.configure({ operation_templates: ['mystery'] });
    const { labels } = anInstance().metadata;
    const payload = {
      apiVersion: 'ops.service.io/v1alpha1',
      kind: 'Operation',
      metadata: { name: 'restart', namespace: 'shop', labels },
      spec: { template: 'mystery', parameters: {} },
    };
    // The order on the wire stands in the job alone.
    stage.plane.queue.put(applyJob('j1', {}, { payload, idempotencyKey: 'operation/shop/restart@1' }));
    expect(await stage.result('j1')).toMatch(/^failed: TemplateNotSupported: /);
  });

  it('two generations in one poll: both are applied in order, and the older one is overtaken', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { queue } = stage.plane;
    queue.put(applyJob('j2', { source: '1.2', version: '6.6.1', intentId: 'int-2' }), applyJob('j1'));
    expect(await stage.result('j2')).toBe('succeeded');
    expect(await stage.result('j1')).toBe('noop: superseded by generation 2 before it was ready');
    expect(queue.get('j1').results[0]?.source).toEqual({ epoch: 1, generation: 2, intentId: 'int-2' });
    expect((await stage.instance())?.['spec']).toMatchObject({ chart: { version: '6.6.1' } });
  });

  it('an uninstall and an install after it, in one poll: the object is made anew', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { queue } = stage.plane;
    queue.put(applyJob('j1'));
    expect(await stage.result('j1')).toBe('succeeded');
    const before = await stage.instance();
    queue.put(applyJob('j3', { source: '1.3' }), deleteJob('j2', 2));
    expect(await stage.result('j2')).toBe('succeeded');
    expect(await stage.result('j3')).toBe('succeeded');
    const after = await stage.instance();
    expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
  });

  it('a delete of what is not there: noop', async () => {
    await using stage = await JobStage.start();
    stage.plane.queue.put(deleteJob('j1', 2));
    expect(await stage.result('j1')).toBe('noop: the object is not in the cluster');
  });
});
