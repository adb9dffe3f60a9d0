import { expect, it } from 'vitest';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { AgentClient } from '../../src/operator/agent-client.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { kubeconfigText } from '../../src/sandbox/kubeconfig.ts';
import { startHttp2Server } from '../support/http2-server.ts';

const NEVER = new AbortController().signal;

// Aborted while it leaves, a request over HTTP/2 hangs the process in Node 24.
it('speaks HTTP/1.1 to an API server and a control plane that would rather speak HTTP/2', async () => {
  await using server = await startHttp2Server();
  await using api = connectCluster({
    kubeconfig: { kind: 'text', yaml: kubeconfigText({ ...server, token: new Secret('one') }) },
    userAgent: 'test',
    clock: systemClock,
    random: Math.random,
  });
  expect(await api.version()).toMatchObject({ gitVersion: 'v1.36.0' });
  await using agent = new AgentClient({
    baseUrl: server.url,
    caCertificate: server.ca,
    userAgent: 'test',
    clock: systemClock,
  });
  await agent.call({ method: 'GET', path: '/api/agent/config?wait=0' }, undefined, NEVER);
  expect(server.versions).toEqual(['1.1', '1.1']);
});
