import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AGENT_MEDIA_TYPE } from '../../src/protocol/media-type.ts';
import { applyJob } from './jobs/job-stage.ts';
import { FakeControlPlane } from './fake-control-plane.ts';
import { OperatorWorld } from './operator-world.ts';

/** A control plane that has what the specification has, and nothing of ours: no revision of a configuration, no `/config`. */
async function specificationOnly(): Promise<FakeControlPlane> {
  const plane = await FakeControlPlane.start();
  plane.intercept = ({ path }, response) => {
    const setHeaders = response.writeHead.bind(response) as (status: number, headers: object) => typeof response;
    response.writeHead = ((status: number, headers: Record<string, string>) => {
      const { 'service-config-revision': _ours, ...theirs } = headers;
      return setHeaders(status, theirs);
    }) as typeof response.writeHead;
    if (!path.startsWith('/api/agent/config')) return false;
    response.writeHead(404, { 'content-type': AGENT_MEDIA_TYPE });
    response.end(JSON.stringify({ error: 'not_found', message: 'there is no such endpoint', requestId: 'r' }));
    return true;
  };
  return plane;
}

describe('a control plane that follows the specification and no more', () => {
  it('is asked for jobs, and told with each why nothing is allowed here', async () => {
    await using plane = await specificationOnly();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    const { deliveryEpoch: _epoch, generation: _generation, intentId: _intent, ...plain } = applyJob('j1');
    plane.queue.put(plain);
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    const condition = await world.until('ConfigurationServed', 'False', 'ConfigurationNotServed');
    expect(condition.message).toBe(
      'The control plane tells no configuration: its answers carry no Service-Config-Revision, or it has no GET /api/agent/config. So it allows no namespace, catalog entry or operation template here: jobs are taken, and end as failed. Upgrade it, or let its answers through whole.',
    );
    await expect
      .poll(() => plane.queue.outcomes('j1'), { timeout: 15_000 })
      .toEqual([
        'failed: NamespaceNotAllowed: namespace shop is not allowed for this cluster; the control plane tells no configuration that would allow any',
      ]);
    expect(plane.queue.said).toEqual(['ack j1', 'result j1 failed']);
    expect((await world.read()).status).toMatchObject({ connectivityMode: 'pull' });
    expect(plane.count('/api/agent/config')).toBe(0);
  });

  it('is asked for jobs by the process after a restart, too', async () => {
    await using plane = await specificationOnly();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('ConfigurationServed', 'False', 'ConfigurationNotServed');
    await world.restart();
    plane.queue.put(applyJob('j1'));
    await expect.poll(() => plane.queue.outcomes('j1').length, { timeout: 15_000 }).toBe(1);
  });

  it('in the place of one that had told a configuration: what that allowed holds, and is said', async () => {
    await using plane = await FakeControlPlane.start();
    await using theirs = await specificationOnly();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await expect.poll(async () => (await world.read()).status?.configRevision, { timeout: 30_000 }).toBe('1');
    for (const token of plane.tokens) theirs.tokens.add(token);
    await world.setSpec({ controlPlaneBaseUrl: theirs.url });
    const { message } = await world.until('ConfigurationServed', 'False', 'ConfigurationNotServed');
    expect(message).toContain('The operator goes by the one that it was told last.');
    theirs.queue.put(applyJob('j1', { namespace: 'other' }));
    await expect.poll(() => theirs.queue.outcomes('j1').length, { timeout: 15_000 }).toBe(1);
    await world.setSpec({ controlPlaneBaseUrl: plane.url });
    await world.until('ConfigurationServed', 'True', 'ConfigurationFound');
  });

  it('is no reason to wait: what listens elsewhere is not mistaken for one', async () => {
    const server = createServer((_, response) => void response.writeHead(200).end('<h1>welcome</h1>'));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    await using world = await OperatorWorld.start();
    await world.start();
    await world.join(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'svcreg_a');
    await world.until('Connected', 'False', 'ControlPlaneUnreachable');
    expect((await world.read()).status?.connectivityMode).toBeUndefined();
    server.close();
  });
});
