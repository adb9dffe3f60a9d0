import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AgentClient } from '../../src/operator/agent-client.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { CLUSTER_ID, FakeControlPlane } from './fake-control-plane.ts';

const NEVER = new AbortController().signal;
const IDENTITY = { token: new Secret('svcagt_1'), clusterId: CLUSTER_ID };

function clientOf(baseUrl: string, caCertificate = '', revisions: string[] = []): AgentClient {
  return new AgentClient({
    baseUrl,
    caCertificate,
    userAgent: 'test',
    clock: systemClock,
    onConfigRevision: (revision) => void revisions.push(revision),
  });
}

describe('the agent client', () => {
  it('sends the headers of the protocol, and a MAC over method, path and body on writes', async () => {
    await using plane = await FakeControlPlane.start();
    plane.tokens.add('svcagt_1');
    const revisions: string[] = [];
    await using client = clientOf(`${plane.url}/`, '', revisions);
    const body = { cluster_id: CLUSTER_ID, events: [] };
    const answer = await client.call({ method: 'POST', path: '/api/agent/events', body }, IDENTITY, NEVER);
    expect(answer).toEqual({ state: 'ok', status: 204, body: undefined, revision: '1' });
    expect(plane.requests[0]?.headers).toMatchObject({
      accept: 'application/vnd.service.agent.v1+json',
      'content-type': 'application/vnd.service.agent.v1+json',
      authorization: 'Bearer svcagt_1',
      'service-signature': expect.stringMatching(/^v1,t=\d+,mac=[\w-]{43}$/),
    });
    expect(revisions).toEqual(['1']);
    await client.call({ method: 'GET', path: '/api/agent/config?wait=0', ifNoneMatch: '"0"' }, IDENTITY, NEVER);
    const { headers } = plane.requests[1] ?? {};
    expect({
      tag: headers?.['if-none-match'],
      type: headers?.['content-type'],
      mac: headers?.['service-signature'],
    }).toEqual({ tag: '"0"', type: undefined, mac: undefined });
  });

  it('tells a server that is not there from a connection that was cut', async () => {
    const plane = await FakeControlPlane.start();
    const { url } = plane;
    await plane.close();
    await using client = clientOf(url);
    const call = { method: 'GET', path: '/api/agent/config' } as const;
    expect(await client.call(call, IDENTITY, NEVER)).toMatchObject({
      state: 'unavailable',
      cut: false,
      message: expect.stringContaining('ECONNREFUSED'),
    });

    const cutting = createServer((socket) => socket.once('data', () => socket.destroy()));
    await new Promise<void>((resolve) => {
      cutting.listen(0, '127.0.0.1', resolve);
    });
    await using other = clientOf(`http://127.0.0.1:${(cutting.address() as AddressInfo).port}`);
    expect(await other.call(call, IDENTITY, NEVER)).toMatchObject({ state: 'unavailable', cut: true });
    cutting.close();
  });

  it('accepts only the pinned authority', async () => {
    await using server = await startSandbox();
    await using pinned = clientOf(server.url, server.ca);
    await using unpinned = clientOf(server.url);
    const call = { method: 'GET', path: '/version' } as const;
    expect(await pinned.call(call, undefined, NEVER)).toMatchObject({
      state: 'unavailable',
      message: expect.stringMatching(/^answered 200 with something/),
    });
    expect(await unpinned.call(call, undefined, NEVER)).toMatchObject({
      state: 'unavailable',
      message: expect.stringMatching(/self-signed|unable to verify/i),
    });
  });

  it('ends at once when it is aborted', async () => {
    await using plane = await FakeControlPlane.start();
    plane.intercept = () => true;
    await using client = clientOf(plane.url);
    const stop = new AbortController();
    const call = client.call(
      { method: 'GET', path: '/api/agent/config?wait=30', holdSeconds: 30 },
      IDENTITY,
      stop.signal,
    );
    await expect.poll(() => plane.requests.length).toBe(1);
    stop.abort(new Error('stopping'));
    await expect(call).rejects.toThrow('stopping');
  });
});
