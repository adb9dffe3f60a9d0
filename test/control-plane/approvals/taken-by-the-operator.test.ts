import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/protocol/agent-config.ts';
import { NO_APPROVALS, type ClusterPolicy } from '../../../src/policy/cluster-policy.ts';
import type { Approvable } from '../../../src/policy/approval-need.ts';
import { judgeApproval } from '../../../src/policy/judge-approval.ts';
import { registerAgent, type RunningAgent } from '../admin/running-agent.ts';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';
import { ApprovingCluster } from './approving-cluster.ts';

const SOON = { timeout: 10_000 };
let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** As the operator judges what it is given, by the configuration that it is given. */
async function judge(agent: RunningAgent, object: unknown): Promise<string> {
  const {
    cluster_id: clusterId,
    approvals,
    ...config
  } = (await agent.get('/api/agent/config?wait=0')).body as AgentConfig;
  const policy: ClusterPolicy = {
    clusterId,
    mode: 'pull',
    deliveryEpoch: 1,
    allowedNamespaces: config.allowed_namespaces,
    catalogEntries: config.catalog_entries,
    operationTemplates: config.operation_templates,
    approvals:
      approvals === undefined
        ? NO_APPROVALS
        : {
            namespaces: approvals.namespaces,
            operationTemplates: approvals.operation_templates,
            catalogEntries: approvals.catalog_entries,
            statements: approvals.statements,
          },
    signingKeys: config.signing_public_keys.keys,
    requireSignedPayloads: false,
    requireEncryptedSecretPayloads: false,
    paused: false,
  };
  const judged = await judgeApproval(object as Approvable, { namespace: undefined, policy, now: new Date() });
  return 'message' in judged ? `${judged.state}: ${judged.message}` : judged.state;
}

describe('what the control plane delivers', () => {
  it('is taken by the operator: an operation, and what is installed in or into a namespace that asks', async () => {
    const cluster = await ApprovingCluster.create(plane, 'taken', { allowedNamespaces: ['shop', 'vault'] });
    const agent = await registerAgent(plane, 'taken');
    await cluster.requires({ count: 1 });
    await plane.call('PATCH', '/clusters/taken', { approvalNamespaces: ['vault'] });
    const plain = { operationTemplate: undefined, parameters: undefined };
    const asked = [
      await cluster.ask(),
      await cluster.ask({ ...INSTALL, ...plain, namespace: 'vault' }),
      await cluster.ask({ ...INSTALL, ...plain, targetNamespace: 'vault' }),
    ];
    for (const id of asked) {
      expect((await cluster.intent(id))['state']).toBe('accepted');
      await cluster.act(id, 'approve', 'anna');
      await plane.until(id, 'delivered');
      expect(await judge(agent, cluster.jobs(id)[0])).toBe('good');
    }
    const other = cluster.jobs(asked[0] ?? '')[0];
    const changed = { ...other, spec: { ...other?.spec, parameters: { name: 'other' } } };
    expect(await judge(agent, changed)).toMatch(/^invalid: .*another spec/);
  });

  it('is taken with the statement of the configuration once the key of its own was revoked', async () => {
    const cluster = await ApprovingCluster.create(plane, 'signed-again');
    const agent = await registerAgent(plane, 'signed-again');
    await plane.call('PUT', '/catalog/guarded', { ...PODINFO, approval: { count: 1 } });
    await plane.call('PATCH', '/clusters/signed-again', { allowedCatalogEntries: ['guarded'] });
    const plain = { operationTemplate: undefined, parameters: undefined };
    const id = await cluster.ask({ ...INSTALL, ...plain, catalogEntry: 'guarded' });
    await cluster.act(id, 'approve', 'anna');
    await plane.until(id, 'delivered');
    const [manifest] = cluster.jobs(id);
    expect(await judge(agent, manifest)).toBe('good');
    const [key] = plane.query('SELECT kid FROM signing_keys WHERE cluster_id = ?', cluster.id);
    await plane.call('POST', '/clusters/signed-again/signing-keys');
    expect(await judge(agent, manifest)).toBe('good');
    await plane.call('DELETE', `/clusters/signed-again/signing-keys/${String(key?.['kid'])}`);
    await expect.poll(async () => await judge(agent, manifest), SOON).toBe('good');
    const bare = { ...manifest, metadata: { ...manifest?.metadata, annotations: {} } };
    expect(await judge(agent, bare)).toBe('good');
  });
});
