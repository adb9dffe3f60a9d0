import { expect } from 'vitest';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { HELM_RELEASE } from '../../src/resources/flux-helm-release.ts';
import { INSTALL, type RunningControlPlane } from '../control-plane/running-control-plane.ts';

/** Where the story is played: a control plane, a cluster with a release controller, an operator that can be restarted. */
export interface OptionsWorld {
  readonly plane: RunningControlPlane;
  readonly clusterId: string;
  readonly api: ClusterApi;
  readonly restart: () => Promise<void>;
}

const IGNORE = [{ paths: ['/spec/replicas'], target: { kind: 'Deployment', name: 'web' } }];
interface Reported {
  readonly resourceRef: { readonly kind: string; readonly name: string };
  readonly conditions: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
}

const PATIENCE = { timeout: 40_000, interval: 50 };

/** All that the channel has to say of the story. */
export const OPTIONS_TOLD = [
  'HelmReleaseReady shop/db 6.5.0 is ready',
  'HelmReleaseReady shop/web 6.5.0 is ready',
  'HelmReleaseUpgradeFailed shop/web 6.6.1 could not be upgraded',
  'HelmReleaseRolledBack shop/web 6.6.1 was rolled back',
  'HelmReleaseUpgraded shop/web 6.6.1 was upgraded',
  'CredentialRotated credential rotated',
  'Uninstalled shop/db was uninstalled',
].toSorted();

/**
 * The options of an instance from `POST intent` to what Flux is told, to conditions, to what becomes of the intent, and what
 * the discussion channel tells of all that, each thing once.
 */
export async function playInstanceOptions({ plane, clusterId, api, restart }: OptionsWorld): Promise<string[]> {
  const post = async (intent: object) =>
    await plane.call('POST', `/clusters/${clusterId}/intents`, { ...INSTALL, ...intent });
  const faults = async (intent: object): Promise<string[]> => {
    const { status, body } = await post(intent);
    return [
      String(status),
      ...body['faults'].map((fault: { path: string; message: string }) => `${fault.path} ${fault.message}`),
    ];
  };
  const accept = async (intent: object): Promise<string> => {
    const { status, body } = await post(intent);
    expect([status, body['message']]).toEqual([202, undefined]);
    return String(body['id']);
  };
  /** The intent's reason, once it has come to `state`. */
  const bring = async (intent: object, state: string): Promise<string> => {
    const id = await accept(intent);
    await plane.until(id, state);
    return String((await plane.call('GET', `/intents/${id}`)).body['reason'] ?? '');
  };
  const uninstall = { action: 'uninstall', catalogEntry: undefined, chartVersion: undefined };
  const update = { name: 'web', action: 'update', catalogEntry: undefined, chartVersion: undefined };
  const conditionsAre = async (name: string, wanted: Record<string, unknown>): Promise<void> => {
    const said = async (): Promise<unknown> => {
      const { body } = await plane.call('GET', `/clusters/${clusterId}/conditions`);
      const items = body['items'] as readonly Reported[];
      const found = items.find(
        ({ resourceRef: { kind, name: other } }) => kind === 'ApplicationInstance' && other === name,
      );
      return Object.fromEntries(
        (found?.conditions ?? []).map(({ type, reason, message }) => [type, `${reason}: ${message}`]),
      );
    };
    await expect.poll(said, PATIENCE).toMatchObject(wanted);
  };

  const web = await accept({
    name: 'web',
    dependsOn: [{ name: 'db' }],
    upgrade: { timeout: '2m', remediation: 'rollback' },
  });
  await conditionsAre('web', {
    Ready: 'DependencyNotReady: waits for what it depends on: ApplicationInstance shop/db is not there',
  });
  expect(await faults({ name: 'db', dependsOn: [{ name: 'web' }] })).toEqual([
    '400',
    '/dependsOn/0 dependsOn goes in a circle, and each would wait for the next for ever: shop/db -> shop/web -> shop/db; take one of these entries out',
  ]);
  await bring({ name: 'db' }, 'ready');
  await plane.until(web, 'ready');

  await restart();
  const bad = {
    ...update,
    chartVersion: '6.6.1',
    values: { replicaCount: -1 },
    driftDetection: 'warn',
    driftIgnore: IGNORE,
  };
  expect(await bring(bad, 'failed')).toMatch(/^HelmRelease(RolledBack|UpgradeFailed): Helm upgrade failed .*replicas/);
  await conditionsAre('web', {
    Ready: expect.stringMatching(
      /^HelmReleaseUpgradeFailed: Helm upgrade failed .*must be greater than or equal to 0$/,
    ),
    Degraded: expect.stringMatching(
      /^HelmReleaseRolledBack: .*; then: Helm rollback to previous release .* succeeded$/,
    ),
    Reconciling: expect.stringMatching(/^RetriesExhausted: Failed to upgrade after 1 attempt/),
    Stalled: expect.stringMatching(/^HelmReleaseUpgradeFailed/),
  });
  const release = { ...HELM_RELEASE, namespace: 'shop', name: 'web' };
  expect((await api.get(release))?.['spec']).toMatchObject({
    dependsOn: [{ name: 'db' }],
    timeout: '2m',
    upgrade: { remediation: { remediateLastFailure: true, strategy: 'rollback' } },
    driftDetection: { mode: 'warn', ignore: IGNORE },
  });
  await bring({ ...update, values: { replicaCount: 2 } }, 'ready');
  await conditionsAre('web', {
    Drifted: 'NoDrift: Flux reports no drift',
    Degraded: expect.stringMatching(/^Healthy/),
  });

  expect(await faults({ ...update, releaseName: 'other', driftDetection: 'disabled' })).toEqual([
    '400',
    expect.stringMatching(/^\/releaseName releaseName cannot be changed: .*it is left out now/),
    expect.stringMatching(/^\/driftIgnore has an effect only where/),
  ]);
  await bring({ ...update, suspend: true }, 'ready');
  await conditionsAre('web', { Ready: 'Suspended: spec.suspend is true; what runs keeps running' });
  expect((await api.get(release))?.['spec']).toMatchObject({ suspend: true });
  expect((await plane.call('POST', `/clusters/${clusterId}/rotate`)).status).toBe(200);
  // Taken back, each by its own value.
  await bring({ ...update, suspend: false, dependsOn: [], driftDetection: 'disabled', driftIgnore: [] }, 'ready');
  const spec = (await api.get(release))?.['spec'];
  expect(spec).toMatchObject({ suspend: false, driftDetection: { mode: 'disabled' } });
  expect(Object.keys(spec as object)).not.toContain('dependsOn');

  await bring({ ...update, deletionPolicy: 'Orphan' }, 'ready');
  const orphaning = await accept({ ...uninstall, name: 'web' });
  await plane.until(orphaning, 'removed');
  // By a job's result the intent is removed; what stays is said by the event, which may come after that.
  await expect
    .poll(async () => String((await plane.call('GET', `/intents/${orphaning}`)).body['reason'] ?? ''), PATIENCE)
    .toMatch(
      /^Orphaned: what was made of it stays in the cluster \(HelmRelease web, OCIRepository web\): spec.deletionPolicy is Orphan/,
    );
  expect(await api.get({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' })).toBeDefined();
  await restart();
  await bring({ ...uninstall, name: 'db' }, 'removed');

  const told = async (): Promise<string[]> => {
    const { body } = await plane.call('GET', '/channel?limit=100');
    const items = body['items'] as readonly { reason: string; text: string }[];
    return items.map(({ reason, text }) => `${reason} ${text.split(': ')[1]}`).toSorted();
  };
  await expect.poll(told, PATIENCE).toEqual(OPTIONS_TOLD);
  return await told();
}
