import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';
import { ApprovingCluster } from './approving-cluster.ts';

const TEMPLATES = ['velero-backup', 'velero-restore', 'of-vault', 'release-rollback', 'release-reconcile', 'back-to'];
const PLAIN = { operationTemplate: undefined, parameters: undefined };
let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.call('PUT', '/operation-templates/of-vault', {
    run: { template: 'velero-backup', parameters: { includedNamespaces: ['vault'] } },
  });
  const made = await plane.call('PUT', '/operation-templates/back-to', {
    parameters: { type: 'object', properties: { application: { type: 'string' } }, required: ['application'] },
    run: { template: 'release-rollback', parameters: { application: { $value: 'application' }, values: { a: 1 } } },
  });
  expect(made.body).toMatchObject({ name: 'back-to' });
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function clusterWith(slug: string, change: Readonly<Record<string, unknown>> = {}): Promise<ApprovingCluster> {
  const settings = { allowedNamespaces: ['shop', 'vault'], allowedOperationTemplates: TEMPLATES, ...change };
  return await ApprovingCluster.create(plane, slug, settings);
}

/** What an operation has to be approved by; undefined: it goes out. */
async function neededBy(
  cluster: ApprovingCluster,
  name: string,
  operationTemplate: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const id = await cluster.ask({ name, operationTemplate, parameters });
  const { state, approval } = await cluster.intent(id);
  if (approval === undefined) return undefined;
  expect(state).toBe('accepted');
  const { required } = await cluster.approval(id);
  return required;
}

describe('a namespace that asks is asked for', () => {
  it('by a restore that takes out of it or writes to it, and by a backup of it, also by an own template', async () => {
    const cluster = await clusterWith('velero');
    await plane.call('PATCH', '/clusters/velero', { approvalNamespaces: ['vault'] });
    const effects = [
      ['velero-restore', { backup: 'b', includedNamespaces: ['vault'], existingResourcePolicy: 'update' }],
      ['velero-restore', { backup: 'b', namespaceMapping: { shop: 'vault' } }],
      ['velero-restore', { backup: 'b', namespaceMapping: { vault: 'shop' } }],
      ['velero-backup', { includedNamespaces: ['shop', 'vault'] }],
      ['of-vault', {}],
      ['velero-backup', {}],
    ] as const;
    const needed: unknown[] = [];
    for (const [index, [template, parameters]] of effects.entries()) {
      needed.push(await neededBy(cluster, `velero-${index}`, template, parameters));
    }
    const one = { count: 1 };
    expect(needed).toEqual([one, one, one, one, one, undefined]);
  });

  it('by what is done to an application that has its effect there: rollback, reconcile and uninstall', async () => {
    const cluster = await clusterWith('effect');
    const into = await cluster.ask({ ...INSTALL, ...PLAIN, targetNamespace: 'vault' });
    const beside = await cluster.ask({ ...INSTALL, ...PLAIN, name: 'beside' });
    for (const id of [into, beside]) await plane.until(id, 'delivered');
    await plane.call('PATCH', '/clusters/effect', { approvalNamespaces: ['vault'] });
    for (const template of ['release-rollback', 'release-reconcile']) {
      await expect(neededBy(cluster, `${template}-1`, template, { application: 'podinfo' })).resolves.toBeDefined();
      await expect(neededBy(cluster, `${template}-2`, template, { application: 'beside' })).resolves.toBeUndefined();
    }
    const gone = { ...PLAIN, action: 'uninstall' };
    const held = await cluster.intent(await cluster.ask({ ...gone, name: 'podinfo' }));
    expect(held).toMatchObject({ state: 'accepted', reason: expect.stringContaining('Waiting: approval') });
    await plane.until(await cluster.ask({ ...gone, name: 'beside' }), 'delivered');
  });
});

it('a rollback to a version or values of its choice needs what the entry asks for; back by one needs nothing', async () => {
  const approval = { count: 2, roles: { security: 1 } };
  await plane.call('PUT', '/catalog/guarded', PODINFO);
  const cluster = await clusterWith('chosen', { allowedCatalogEntries: ['guarded'] });
  const installed = await cluster.ask({ ...INSTALL, ...PLAIN, catalogEntry: 'guarded' });
  await plane.until(installed, 'delivered');
  await plane.call('PUT', '/catalog/guarded', { ...PODINFO, approval });
  const application = 'podinfo';
  const asked = [
    await neededBy(cluster, 'one', 'release-rollback', { application, chartVersion: '6.5.1' }),
    await neededBy(cluster, 'two', 'release-rollback', { application, values: { evil: true } }),
    await neededBy(cluster, 'three', 'back-to', { application }),
    await neededBy(cluster, 'four', 'release-rollback', { application }),
  ];
  expect(asked).toEqual([approval, approval, approval, undefined]);
  // The namespace wants one, and that takes nothing from what the entry wants.
  await plane.call('PATCH', '/clusters/chosen', { approvalNamespaces: ['shop'] });
  const values = { evil: true };
  await expect(neededBy(cluster, 'five', 'release-rollback', { application, values })).resolves.toEqual(approval);
});
