import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Agent } from './agent-server.ts';
import { jobsIn, JobsServer, turns, until } from './jobs-server.ts';

/** A poll on a connection of its own, of which the server holds the end after some turns. */
async function pollBySocket(
  server: JobsServer,
  agent: Agent,
): Promise<Disposable & { socket: Socket; received: () => string }> {
  const socket = connect((server.agents.app.server.address() as AddressInfo).port, '127.0.0.1');
  let text = '';
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('utf8');
  });
  await once(socket, 'connect');
  const head = [
    `GET /api/agent/jobs?cluster=${agent.id}&wait=300 HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${agent.token}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await until(async () => (server.agents.clock.sleeping === 2 ? true : undefined));
  await turns(200);
  return { socket, received: () => text, [Symbol.dispose]: () => void socket.destroy() };
}

describe('a poll whose connection died (A4)', () => {
  it('does not take a job with it, nor does its late end take the new session offline', async () => {
    await using server = await JobsServer.start();
    await server.agents.app.listen({ host: '127.0.0.1', port: 0 });
    const agent = await server.newAgent('prod-eu');
    using dead = await pollBySocket(server, agent);
    const live = await server.hold(agent, 300);
    // The proxy tells of the old connection only now.
    dead.socket.destroy();
    await turns(200);
    expect(live.ended).toBe(false);
    const { jobId } = await server.bring(agent);
    expect(jobsIn(await live.answer).map(({ id }) => id)).toEqual([jobId]);
  });

  it('loses nothing when the answer went to nobody: the next poll gets the same job', async () => {
    await using server = await JobsServer.start();
    await server.agents.app.listen({ host: '127.0.0.1', port: 0 });
    const agent = await server.newAgent('prod-eu');
    using sent = await pollBySocket(server, agent);
    const { socket, received } = sent;
    const { jobId } = await server.bring(agent);
    await until(async () => (received().includes(jobId) ? true : undefined));
    socket.destroy();
    expect(await server.job(jobId)).toMatchObject({ state: 'delivered' });
    expect(jobsIn(await server.poll(agent, 300)).map(({ id }) => id)).toEqual([jobId]);
  });

  it('frees its place when the client goes, and when the server closes it answers', async () => {
    await using server = await JobsServer.start();
    await server.agents.app.listen({ host: '127.0.0.1', port: 0 });
    const agent = await server.newAgent('prod-eu');
    // Delivery sleeps between its looks, and one timer goes for all polls.
    using sent = await pollBySocket(server, agent);
    const { socket } = sent;
    await until(async () => (server.agents.clock.sleeping === 2 ? true : undefined));
    socket.destroy();
    await until(async () => (server.agents.clock.sleeping === 1 ? true : undefined));
    const held = await server.hold(agent, 300);
    await server.agents.app.close();
    expect(await held.answer).toMatchObject({ status: 200, body: { jobs: [] } });
  });
});
