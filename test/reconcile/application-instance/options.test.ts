import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findCondition } from '../../../src/resources/conditions.ts';
import type { HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import { conditionsOf, instance, names, release, setStage, type Stage } from './stage.ts';

let stage: Stage;

beforeEach(async () => {
  stage = await setStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', ...names };
const scaleBy = async (replicas: number) => await stage.cluster.api.mergePatch(deployment, { spec: { replicas } });

/** Flux' look for drift, and the operator's at what it said. */
async function lookForDrift(): Promise<void> {
  await stage.flux.detectDrift();
  const looked = { metadata: { annotations: { 'test/looked': crypto.randomUUID() } } };
  await stage.cluster.api.mergePatch(release, looked);
}

async function messageOf(type: string, intentId: string, reason: string): Promise<string> {
  const live = await stage.until(intentId, type, reason);
  return findCondition(live.status?.conditions, type)?.message ?? '';
}

describe('the options of an instance', () => {
  it('drift in mode warn is shown as Drifted, and what is ignored is not', async () => {
    const driftIgnore = [{ paths: ['/metadata/labels/app.kubernetes.io~1name'] }];
    await stage.deliver({ spec: { values: { replicaCount: 2 }, driftDetection: 'warn', driftIgnore } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.until('int-1', 'Drifted', 'NoDrift');
    await stage.cluster.api.mergePatch(deployment, { metadata: { labels: { 'app.kubernetes.io/name': 'x' } } });
    await lookForDrift();
    await stage.until('int-1', 'Drifted', 'NoDrift');
    await scaleBy(9);
    await lookForDrift();
    expect(await messageOf('Drifted', 'int-1', 'DriftDetected')).toBe(
      'Cluster state of release shop/podinfo.v1 has drifted from the desired state:\nDeployment/shop/podinfo changed (0 additions, 1 changes, 0 removals)',
    );
    expect(conditionsOf(await stage.read())).toEqual({
      Ready: 'True HelmReleaseReady',
      Reconciling: 'False Stable',
      Degraded: 'False Healthy',
      Drifted: 'True DriftDetected',
    });
    await stage.deliver({ intentId: 'int-2', source: '1.2', spec: { values: { replicaCount: 2 } } });
    expect(await messageOf('Drifted', 'int-2', 'NoDrift')).toBe('drift is not looked for');
  });

  it('drift in mode enabled is put back, and Ready stays what it was', async () => {
    await stage.deliver({ spec: { values: { replicaCount: 2 }, driftDetection: 'enabled' } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    const before = stage.operator.story.length;
    await scaleBy(9);
    await lookForDrift();
    expect(await messageOf('Drifted', 'int-1', 'DriftCorrected')).toMatch(
      /has been corrected:\nDeployment\/shop\/podinfo/,
    );
    expect(stage.operator.story.slice(before).join('\n')).not.toMatch(/Ready=(False|Unknown)/);
    expect(await stage.cluster.api.get(deployment)).toMatchObject({ spec: { replicas: 2 } });
  });

  it('a dependency is waited for, with what it lacks, until it is Ready', async () => {
    await stage.deliver({ spec: { dependsOn: [{ name: 'db' }] } });
    expect(await messageOf('Ready', 'int-1', 'DependencyNotReady')).toBe(
      'waits for what it depends on: ApplicationInstance shop/db is not there',
    );
    const db = { name: 'db', intentId: 'int-2', version: '6.9.9' };
    await stage.deliver(db);
    await vi.waitFor(
      async () =>
        expect(await messageOf('Ready', 'int-1', 'DependencyNotReady')).toMatch(
          /shop\/db is not Ready: SourceUnavailable/,
        ),
      8000,
    );
    await stage.deliver({ ...db, version: '6.6.1', source: '1.2' });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  });

  it.each([
    ['rollback', 'HelmReleaseRolledBack', /then: Helm rollback to previous release .* succeeded$/, '6.5.0', 1],
    ['uninstall', 'HelmReleaseTakenOut', /then: Helm uninstall remediation .* succeeded$/, undefined, 0],
  ] as const)(
    'a failed upgrade is remedied by %s, after its retries',
    async (remediation, reason, says, runs, retries) => {
      const upgrade = { retries, remediation };
      await stage.deliver({ spec: { upgrade } });
      await stage.until('int-1', 'Ready', 'HelmReleaseReady');
      const spec = { upgrade, values: { replicaCount: -1 } };
      await stage.deliver({ intentId: 'int-2', source: '1.2', version: '6.6.1', spec });
      expect(await messageOf('Degraded', 'int-2', reason)).toMatch(says);
      const live = await stage.until('int-2', 'Ready', 'HelmReleaseUpgradeFailed');
      expect(findCondition(live.status?.conditions, 'Reconciling')?.message).toContain(
        `Failed to upgrade after ${retries + 1} attempt(s)`,
      );
      expect(conditionsOf(live)['Stalled']).toBe('True HelmReleaseUpgradeFailed');
      const found = await stage.cluster.api.get(deployment);
      const label = found?.metadata.labels?.['helm.sh/chart']?.split('_')[0];
      expect(label).toBe(runs === undefined ? undefined : `podinfo-${runs}`);
      const told = stage.operator.story.filter((line) => line.includes('int-2: '));
      // Between two tries Ready goes on saying why the last one failed.
      const failures = told.map((line) => line.includes('Ready=False/HelmReleaseUpgradeFailed'));
      expect(failures.lastIndexOf(false)).toBeLessThan(failures.indexOf(true));
    },
  );

  it('without a remedy a failed upgrade stays, its retries notwithstanding', async () => {
    const upgrade = { retries: 1 };
    await stage.deliver({ spec: { upgrade } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.deliver({ intentId: 'int-2', source: '1.2', spec: { upgrade, values: { replicaCount: -1 } } });
    await stage.until('int-2', 'Stalled', 'HelmReleaseUpgradeFailed');
    const made = await stage.cluster.api.get<HelmRelease>(release);
    expect(made?.spec.upgrade).toEqual({ remediation: { retries: 1, remediateLastFailure: false } });
    expect(made?.status?.history?.[0]?.status).toBe('failed');
  });

  it('suspended it is left alone, by its spec or by hand, and still uninstalled by a tombstone', async () => {
    await stage.deliver({ spec: { suspend: true } });
    await stage.until('int-1', 'Ready', 'Suspended');
    await stage.deliver({ intentId: 'int-2', source: '1.2', spec: { suspend: false } });
    await stage.until('int-2', 'Ready', 'HelmReleaseReady');
    await stage.deliver({ intentId: 'int-3', source: '1.3' });
    await stage.until('int-3', 'Ready', 'HelmReleaseReady');
    await stage.cluster.api.mergePatch(release, { spec: { suspend: true } }, { fieldManager: 'flux' });
    expect(await messageOf('Ready', 'int-3', 'HelmReleaseSuspended')).toMatch(
      /is suspended by flux, and not by spec.suspend/,
    );
    await stage.deliver({ intentId: 'int-4', source: '1.4', spec: { suspend: true } });
    await stage.until('int-4', 'Ready', 'Suspended');
    await stage.uninstall();
    await stage.untilGone(instance);
    expect(await stage.cluster.api.get(deployment)).toBeUndefined();
  });

  it('switched to Orphan by an update it leaves its release, and says what stays', async () => {
    await stage.deliver({ spec: { deletionPolicy: 'Delete' } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.deliver({ intentId: 'int-2', source: '1.2', spec: { deletionPolicy: 'Orphan' } });
    await stage.until('int-2', 'Ready', 'HelmReleaseReady');
    await stage.uninstall();
    await stage.untilGone(instance);
    expect(stage.operator.events.at(-1)).toBe(
      'Warning Orphaned: what was made of it stays in the cluster (HelmRelease podinfo, OCIRepository podinfo): ' +
        'spec.deletionPolicy is Orphan; to uninstall that too: kubectl -n shop delete helmrelease/podinfo ocirepository/podinfo',
    );
    expect(await stage.cluster.api.get(deployment)).toBeDefined();
  });
});
