import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { releaseRollbackRunner } from '../../../../src/reconcile/operation/runners/release-rollback.ts';
import type { OperationRun } from '../../../../src/reconcile/operation/template-runner.ts';
import type { HelmRelease } from '../../../../src/resources/flux-helm-release.ts';
import { Secret } from '../../../../src/runtime/secret.ts';
import { conditionsOf, instance, release, setStage, type Stage } from '../../application-instance/stage.ts';
import type { Keys } from '../../application-instance/operator.ts';
import { aPolicy } from '../../manifests.ts';
import { aRun, RunStage, wordsOf, type RunOptions } from './run-stage.ts';

const ANNOTATION = 'app.service.io/rollback';
const keys: Keys = { ring: [new Secret('the current key'), new Secret('a retired one')] };
let stage: Stage;
let rollback: RunStage;

beforeEach(async () => {
  stage = await setStage();
  await stage.restart({ keys });
  rollback = new RunStage(releaseRollbackRunner, stage.cluster.api, { keyRing: () => keys.ring });
});

afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

function toGoBack(options: RunOptions = {}): OperationRun {
  const { parameters, ...rest } = options;
  return {
    ...aRun({ name: 'back', ...rest, parameters: { application: 'podinfo', ...parameters } }),
    policy: aPolicy(),
  };
}

/** 6.5.0 by the first intent, 6.6.1 by the second. */
async function upgraded(): Promise<void> {
  await stage.deliver({ spec: { values: { replicaCount: 2 } } });
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  await stage.deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1', spec: { values: { replicaCount: 3 } } });
  await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
}

async function running(): Promise<string> {
  const { status } = await stage.read();
  const flux = await stage.cluster.api.get<HelmRelease>(release);
  return `${status?.release?.chartVersion} with ${JSON.stringify(flux?.spec.values)}`;
}

describe('a rollback', () => {
  it('runs the version released before, says so, and leaves the spec as it was delivered', async () => {
    await upgraded();
    const before = await stage.read();
    const run = toGoBack();
    await expect(rollback.outcome(run)).resolves.toBe(
      'succeeded ReleaseRolledBack: podinfo 6.5.0 runs as shop/podinfo, Helm revision 3, until the next intent for shop/podinfo',
    );
    const live = await stage.until('int-2', 'Ready', 'HelmReleaseRolledBack');
    expect(live.spec).toEqual(before.spec);
    expect(live.metadata.generation).toBe(before.metadata.generation);
    expect(conditionsOf(live)).toMatchObject({ Ready: 'True HelmReleaseRolledBack', Degraded: 'False Healthy' });
    expect(live.status?.conditions?.find(({ type }) => type === 'Ready')?.message).toBe(
      'podinfo 6.5.0 runs as shop/podinfo, Helm revision 3; taken back to 6.5.0 by operation back, until the next intent',
    );
    await expect(running()).resolves.toBe('6.5.0 with {"replicaCount":3}');
    const again = await stage.cluster.api.get<HelmRelease>(release);
    await rollback.start(run);
    expect((await stage.read()).metadata.resourceVersion).toBe(live.metadata.resourceVersion);
    expect(again?.status?.history?.[0]?.version).toBe(3);
  });

  it('takes a version and values where they are named', async () => {
    await upgraded();
    const parameters = { chartVersion: '6.6.0', values: { replicaCount: 7 } };
    await expect(rollback.outcome(toGoBack({ parameters }))).resolves.toContain('podinfo 6.6.0 runs as shop/podinfo');
    await stage.until('int-2', 'Ready', 'HelmReleaseRolledBack');
    await expect(running()).resolves.toBe('6.6.0 with {"replicaCount":7}');
  });

  it('mends an upgrade that failed', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1', spec: { values: { replicaCount: -1 } } });
    await stage.until('int-2', 'Ready', 'HelmReleaseUpgradeFailed');
    await expect(rollback.outcome(toGoBack({ parameters: { values: {} } }))).resolves.toContain('podinfo 6.5.0 runs');
    const live = await stage.until('int-2', 'Ready', 'HelmReleaseRolledBack');
    expect(conditionsOf(live)).toMatchObject({ Degraded: 'False Healthy', Stalled: 'False Stable' });
  });

  it('makes an application Ready again that Flux took back after a failed upgrade', async () => {
    const upgrade = { remediation: 'rollback', retries: 0 } as const;
    await stage.deliver({ spec: { upgrade } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    const bad = { upgrade, values: { replicaCount: -1 } };
    await stage.deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1', spec: bad });
    await stage.until('int-2', 'Degraded', 'HelmReleaseRolledBack');
    await expect(rollback.outcome(toGoBack({ parameters: { values: {} } }))).resolves.toContain('podinfo 6.5.0 runs');
    await vi.waitFor(
      async () =>
        expect(conditionsOf(await stage.read())).toMatchObject({
          Ready: 'True HelmReleaseRolledBack',
          Degraded: 'False Healthy',
        }),
      30_000,
    );
  });

  it('fails where what it went back to does not run', async () => {
    await upgraded();
    const said = await rollback.outcome(toGoBack({ parameters: { values: { replicaCount: -1 } } }));
    expect(said).toMatch(/^failed ReleaseNotRolledBack \(final\): Helm upgrade failed .*podinfo@6\.5\.0/);
  });

  it('that fails is told in one and the same words by every condition, through all of its tries', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1', spec: { upgrade: { retries: 3 } } });
    await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
    const before = stage.operator.reported.length;
    await rollback.outcome(toGoBack({ parameters: { values: { replicaCount: -1 } } }));
    await stage.until('int-2', 'Reconciling', 'RetriesExhausted');
    const said = stage.operator.reported.slice(before).flatMap(({ after }) => after);
    const failures = said.filter(({ reason }) => reason === 'HelmReleaseUpgradeFailed').map(({ message }) => message);
    expect([...new Set(failures)]).toEqual([
      expect.stringMatching(
        /^Helm upgrade failed .*replicas.*; taken back to 6\.5\.0 by operation back, until the next intent$/,
      ),
    ]);
    expect(failures[0]?.match(/taken back/g)).toHaveLength(1);
  });

  it('ends with the next intent, and with no mode switch that delivers the same one again', async () => {
    await upgraded();
    const run = toGoBack();
    await rollback.outcome(run);
    await stage.until('int-2', 'Ready', 'HelmReleaseRolledBack');
    await stage.deliver({ source: '2.2', intentId: 'int-2', version: '6.6.1', spec: { values: { replicaCount: 3 } } });
    await vi.waitFor(
      async () => expect((await stage.read()).metadata.annotations?.['app.service.io/source']).toBe('2.2'),
      30_000,
    );
    expect(wordsOf(await rollback.observe(run))).toContain('podinfo 6.5.0 runs');
    await stage.deliver({ source: '2.3', intentId: 'int-3', version: '6.6.0' });
    await stage.until('int-3', 'Ready', 'HelmReleaseUpgraded');
    await expect(running()).resolves.toContain('6.6.0 with');
    expect(wordsOf(await rollback.observe(run))).toBe(
      'failed ReleaseNotRolledBack (final): a new intent for shop/podinfo came, and what it says is released',
    );
  });

  it('stays through a restart of the operator, also while the keys are not read', async () => {
    await upgraded();
    await rollback.outcome(toGoBack());
    await stage.until('int-2', 'Ready', 'HelmReleaseRolledBack');
    const unread: Keys = { ring: undefined };
    await stage.restart({ keys: unread });
    await stage.operator.reconciler.synced();
    unread.ring = keys.ring;
    await stage.restart({ keys: { ring: [new Secret('a newer key'), ...(keys.ring ?? [])] } });
    await stage.operator.reconciler.synced();
    await stage.cluster.api.mergePatch(instance, { metadata: { annotations: { touched: 'x' } } });
    const live = await stage.until('int-2', 'Ready', 'HelmReleaseRolledBack');
    // One release more would have been there and back.
    expect(live.status?.release).toMatchObject({ chartVersion: '6.5.0', revision: 3 });
  });

  it('that somebody else wrote or changed counts for nothing', async () => {
    await upgraded();
    await rollback.outcome(toGoBack());
    const live = await stage.until('int-2', 'Ready', 'HelmReleaseRolledBack');
    const text = live.metadata.annotations?.[ANNOTATION] ?? '';
    const pin = JSON.parse(text) as object;
    const forged = [
      { ...pin, values: { replicaCount: 99 } },
      { ...pin, chartVersion: '6.6.0' },
      { ...pin, mac: '' },
      { values: '\ud800' },
    ];
    for (const other of forged) {
      await stage.cluster.api.mergePatch(instance, {
        metadata: { annotations: { [ANNOTATION]: JSON.stringify(other) } },
      });
      await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
      await expect(running()).resolves.toBe('6.6.1 with {"replicaCount":3}');
      await stage.cluster.api.mergePatch(instance, { metadata: { annotations: { [ANNOTATION]: text } } });
      await stage.until('int-2', 'Ready', 'HelmReleaseRolledBack');
    }
    expect(stage.operator.events).toContain(
      'Warning ReleaseNotRolledBack: the annotation app.service.io/rollback is not as this operator wrote it; what the spec says is released again',
    );
  });

  it('gives way to one that began later', async () => {
    await upgraded();
    const first = toGoBack({ name: 'first', uid: 'first-uid' });
    await rollback.outcome(first);
    const later = { ...toGoBack({ name: 'later', uid: 'later-uid', parameters: { chartVersion: '6.6.0' } }) };
    const second = { ...later, startedAt: new Date(first.startedAt.getTime() + 1000) };
    await expect(rollback.outcome(second)).resolves.toContain('podinfo 6.6.0 runs');
    expect(wordsOf(await rollback.observe(first))).toBe(
      'failed ReleaseNotRolledBack (final): a later operation took shop/podinfo elsewhere',
    );
    await expect(rollback.start(first)).resolves.toBeUndefined();
    await expect(running()).resolves.toContain('6.6.0');
  });

  it('needs an earlier version, and may be told one', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await expect(rollback.outcome(toGoBack())).resolves.toBe(
      'failed ReleaseNotRolledBack (final): no earlier version of shop/podinfo is known that ran: Flux keeps the releases back to the one before the present; name one in the parameter chartVersion',
    );
  });

  it('does not go on by itself to what it came from', async () => {
    await upgraded();
    await rollback.outcome(toGoBack());
    await stage.until('int-2', 'Ready', 'HelmReleaseRolledBack');
    await expect(rollback.outcome(toGoBack({ name: 'more', uid: 'more-uid' }))).resolves.toContain(
      'no earlier version',
    );
  });

  it("is held to the catalog's versions", async () => {
    await upgraded();
    const said = await rollback.outcome(toGoBack({ parameters: { chartVersion: '6.4.0' } }));
    expect(said).toMatch(/^failed ChartNotAllowed \(final\): spec\.chart\.version 6\.4\.0 is outside >=6\.5\.0 <7/);
    expect((await stage.read()).metadata.annotations).not.toHaveProperty(ANNOTATION);
  });

  it('leads away from a version that the catalog does not allow any more', async () => {
    await upgraded();
    const [entry] = aPolicy().catalogEntries;
    if (entry === undefined) throw new Error('the policy has an entry');
    const policy = aPolicy({ catalogEntries: [{ ...entry, versions: '>=6.5.0 <6.6.1' }] });
    stage.operator.allow(policy);
    await stage.until('int-2', 'Stalled', 'ChartNotAllowed');
    await expect(rollback.outcome({ ...toGoBack(), policy })).resolves.toContain('podinfo 6.5.0 runs');
    await stage.until('int-2', 'Ready', 'HelmReleaseRolledBack');
  });

  it('runs nothing that nobody approved, where the catalog entry asks for approvals', async () => {
    await upgraded();
    const none = { namespaces: [], operationTemplates: [], statements: [] };
    const policy = aPolicy({ approvals: { ...none, catalogEntries: ['podinfo'] } });
    const run = { ...toGoBack({ parameters: { values: { replicaCount: 9 } } }), policy };
    await expect(rollback.start(run)).resolves.toMatch(
      /^failed ApprovalMissing \(final\): catalog entry podinfo needs an approval/,
    );
    await expect(rollback.start({ ...toGoBack(), policy })).resolves.toBeUndefined();
  });

  it('keeps no more values than an annotation holds', async () => {
    await upgraded();
    const said = await rollback.outcome(toGoBack({ parameters: { values: { note: 'x'.repeat(131_072) } } }));
    expect(said).toMatch(
      /^failed ReleaseNotRolledBack \(final\): the values are too large: 13\d{4} bytes .*at most 131072/,
    );
  });

  it.for([
    [
      'is not there',
      async (): Promise<void> => undefined,
      /^failed TargetNotFound \(final\): ApplicationInstance shop\/podinfo is not there/,
    ],
    [
      'is suspended',
      async (): Promise<void> => {
        await upgraded();
        await stage.deliver({ source: '1.3', intentId: 'int-3', version: '6.6.1', spec: { suspend: true } });
        await stage.until('int-3', 'Ready', 'Suspended');
      },
      /^failed ReleaseNotRolledBack \(final\): ApplicationInstance shop\/podinfo is suspended/,
    ],
  ] as const)('says of an application that it %s', async ([, prepare, said]) => {
    await prepare();
    await expect(rollback.outcome(toGoBack())).resolves.toMatch(said);
  });

  it('writes nothing to an application that is paused', async () => {
    await upgraded();
    await stage.cluster.api.mergePatch(instance, { metadata: { annotations: { 'ops.service.io/paused': 'true' } } });
    const before = (await stage.read()).metadata.annotations;
    await expect(rollback.start(toGoBack())).resolves.toMatch(/^failed Paused \(final\): .*ops\.service\.io\/paused/);
    expect((await stage.read()).metadata.annotations).toEqual(before);
  });

  it('waits for the keys of the cluster', async () => {
    await upgraded();
    const without = new RunStage(releaseRollbackRunner, stage.cluster.api, { keyRing: () => undefined });
    await expect(without.start(toGoBack())).rejects.toThrow("the cluster's keys are not read yet");
  });
});
