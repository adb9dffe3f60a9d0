import { afterAll, beforeAll, expect, it } from 'vitest';
import { KubeHttp } from '../support/cluster-contract/kube-http.ts';
import { describeRealCluster, START_TIMEOUT_MS, type RealCluster } from '../support/real-cluster/real-cluster.ts';

describeRealCluster('a real cluster', (start) => {
  let cluster: RealCluster;
  let http: KubeHttp;

  beforeAll(async () => {
    const rule = { level: 'Metadata', resources: [{ group: '', resources: ['configmaps'] }] };
    const auditPolicy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [rule, { level: 'None' }] };
    cluster = await start({ auditPolicy });
    http = new KubeHttp(cluster.kubeconfig);
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await http?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  it('keeps what was written over a restart of its API server', { timeout: START_TIMEOUT_MS }, async () => {
    const path = '/api/v1/namespaces/default/configmaps';
    expect((await http.post(path, { metadata: { name: 'kept' }, data: { a: '1' } })).status).toBe(201);
    await cluster.stopApiServer();
    await expect(http.get(`${path}/kept`)).rejects.toThrow('ECONNREFUSED');
    await cluster.startApiServer();
    expect((await http.get(`${path}/kept`)).body['data']).toEqual({ a: '1' });
  });
});
