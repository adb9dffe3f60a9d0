import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pauseOf } from '../../src/reconcile/pause.ts';
import { findCondition } from '../../src/resources/conditions.ts';
import { createApplyLoop } from '../../src/reconcile/apply-loop.ts';
import { syncConditions } from '../../src/reconcile/cluster/sync-conditions.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { conditionsOf, instance, release, setStage, type Stage } from './application-instance/stage.ts';
import { aNamespace, aPolicy, file, stone } from './manifests.ts';
import { logger } from './test-cluster.ts';

const PAUSED = 'ops.service.io/paused';
const shop = { apiVersion: 'v1', kind: 'Namespace', name: 'shop' };

describe('who paused', () => {
  it('is said by the field manager that owns the annotation, with how to go on', () => {
    const annotations = { [PAUSED]: 'true' };
    const entry = (manager: string, path: Record<string, unknown>) => ({
      manager,
      operation: 'Update' as const,
      time: '2026-01-01T00:00:00Z',
      fieldsV1: { 'f:metadata': { 'f:annotations': path } },
    });
    const managedFields = [
      entry('kubectl-edit', { 'f:other': {} }),
      entry('kubectl-annotate', { [`f:${PAUSED}`]: {} }),
    ];
    expect(pauseOf(aNamespace('shop', { annotations, managedFields }))).toBe(
      'writes are paused by ops.service.io/paused on Namespace shop (set by kubectl-annotate, last at 2026-01-01T00:00:00Z); ' +
        'to go on: kubectl annotate namespace shop ops.service.io/paused-',
    );
  });

  it.each(['false', 'True', ''])('is nobody where the annotation says "%s"', (value) => {
    expect(pauseOf(aNamespace('shop', { annotations: { [PAUSED]: value } }))).toBeUndefined();
  });
});

describe('break-glass', () => {
  let stage: Stage;
  const annotate = async (ref: typeof shop | typeof instance, value: string | null): Promise<void> => {
    await stage.cluster.api.mergePatch(
      ref,
      { metadata: { annotations: { [PAUSED]: value } } },
      { fieldManager: 'eve' },
    );
  };
  const writesTo = (what: string): readonly string[] =>
    stage.operator.recording.writes.filter((write) => write.includes(what));
  /** Another instance goes all the way through behind it. */
  const passed = async (name: string): Promise<void> => {
    await stage.cluster.api.apply(file({ name, namespace: 'yard' }).object, { fieldManager: 'service-operator' });
    await vi.waitFor(() => expect(writesTo(`apply HelmRelease yard/${name}`)).toHaveLength(1), { timeout: 30_000 });
    await vi.waitFor(() => expect(stage.operator.story.at(-1)).toContain('Ready=True'), { timeout: 30_000 });
  };

  beforeEach(async () => {
    stage = await setStage();
    await stage.cluster.api.create(aNamespace('yard'), 'test');
    stage.operator.allow(aPolicy({ allowedNamespaces: ['shop', 'yard'] }));
  });
  afterEach(async () => {
    await stage[Symbol.asyncDispose]();
  });

  it.each([
    ['a namespace', shop],
    ['an object', instance],
  ])('on %s stops every write but one status that says who and how to go on', async (_, where) => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await annotate(where, 'true');
    const paused = await stage.until('int-1', 'Reconciling', 'Paused');
    expect(conditionsOf(paused)).toMatchObject({ Ready: 'True HelmReleaseReady', Reconciling: 'False Paused' });
    expect(findCondition(paused.status?.conditions, 'Reconciling')?.message).toMatch(
      /^writes are paused .* \(set by eve, last at .*\); to go on: kubectl annotate .*paused-$/,
    );
    stage.operator.recording.forget();
    await stage.cluster.api.mergePatch(release, { spec: { suspend: true } });
    await stage.uninstall();
    await passed('behind');
    // Of the tombstone's intent nothing was said yet: that the deletion waits is said once, too.
    expect(writesTo('shop/podinfo')).toEqual(['apply ApplicationInstance shop/podinfo#status']);
    expect((await stage.read()).metadata.finalizers).toEqual(['app.service.io/release']);
    await annotate(where, null);
    await stage.untilGone(instance);
    expect(stage.operator.story.at(-1)).toMatch(/^int-9: Ready=False\/Uninstalled/);
  });

  it('on the Cluster stops every write, the status of objects too, and goes on when it ends', async () => {
    const paused = aPolicy({ paused: true, pause: 'writes are paused by a test' });
    stage.operator.allow(paused);
    await stage.deliver();
    const { api, inventory } = { api: stage.operator.recording.api, inventory: stage.operator.inventory };
    const loop = createApplyLoop({ api, inventory, clock: systemClock, logger, policy: () => paused });
    const set = {
      revision: 'r1',
      scope: 'complete',
      objects: [file()],
      removals: [stone({ name: 'b' })],
      faults: [],
    } as const;
    const report = await loop.apply(set, new AbortController().signal);
    expect(syncConditions(report)).toEqual([
      {
        type: 'Synced',
        status: 'False',
        reason: 'Paused',
        message: 'revision r1: 1 of 1 not applied: Cluster: Paused: writes are paused by a test',
      },
    ]);
    expect(report.retryable).toBe(false);
    expect(stage.operator.recording.writes).toEqual([]);
    stage.operator.allow(aPolicy());
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  });

  it('leaves an object that is new Unknown, not Ready of an intent that never ran', async () => {
    await annotate(shop, 'true');
    await stage.deliver();
    const live = await stage.until('int-1', 'Ready', 'Paused');
    expect(conditionsOf(live)).toMatchObject({ Ready: 'Unknown Paused', Reconciling: 'False Paused' });
    expect(await stage.cluster.api.get(release)).toBeUndefined();
    await annotate(shop, null);
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  });
});
