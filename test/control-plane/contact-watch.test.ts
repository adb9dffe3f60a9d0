import { describe, expect, it } from 'vitest';
import { ContactWatch } from '../../src/control-plane/contact-watch.ts';
import { DEFAULT_INTERVALS } from '../../src/protocol/agent-config.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { AgentServer } from './agent/agent-server.ts';

const SECOND = 1000;

function watch(server: AgentServer): ContactWatch {
  const { store, wakeups, lastContact, clock } = server;
  return new ContactWatch({ store, wakeups, lastContact, clock, logger: createLogger('test', 'silent') });
}

/** Time passes, with a turn of the watch every 20 s. */
async function pass(server: AgentServer, watched: ContactWatch, seconds: number): Promise<void> {
  for (let left = seconds; left > 0; left -= 20) {
    server.clock.advance(Math.min(20, left) * SECOND);
    await watched.turn();
  }
}

async function noted(server: AgentServer): Promise<string[]> {
  const rows = await server.store.db
    .selectFrom('audit')
    .innerJoin('clusters', 'clusters.id', 'audit.cluster_id')
    .select(['clusters.slug', 'audit.summary', 'audit.source', 'audit.kind'])
    .where('audit.kind', '=', 'ConditionTransition')
    .orderBy('audit.id')
    .execute();
  return rows.map(({ slug, summary, source }) => `${slug} ${source} ${summary.split(':')[0]}`);
}

describe('ContactWatch', () => {
  it('notes a cluster that is silent for three heartbeats once, and once that it is heard again', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const watched = watch(server);
    await pass(server, watched, 180);
    expect(await noted(server)).toEqual([]);
    await pass(server, watched, 600);
    expect(await noted(server)).toEqual(['prod-eu agent Disconnected (NoContact)']);
    await server.get(agent, '/api/agent/config');
    await pass(server, watched, 180);
    expect(await noted(server)).toEqual([
      'prod-eu agent Disconnected (NoContact)',
      'prod-eu agent Connected (WithinHeartbeat)',
    ]);
  });

  it('goes by each cluster’s own heartbeat', async () => {
    await using server = await AgentServer.start();
    const intervals = JSON.stringify({ ...DEFAULT_INTERVALS, heartbeat_seconds: 10 });
    await server.newAgent('quick', { intervals });
    await server.newAgent('usual');
    const watched = watch(server);
    await pass(server, watched, 60);
    expect(await noted(server)).toEqual(['quick agent Disconnected (NoContact)']);
  });

  it('marks nobody because the control plane was away, and takes nobody back for it', async () => {
    await using server = await AgentServer.start();
    const heard = await server.newAgent('prod-eu');
    await server.newAgent('gone');
    const before = watch(server);
    for (let turn = 0; turn < 12; turn += 1) {
      await pass(server, before, 20);
      server.lastContact.touch(heard.id);
    }
    expect(await noted(server)).toEqual(['gone agent Disconnected (NoContact)']);
    await server.lastContact.flush();
    // An hour of which the control plane knows nothing, then a new process.
    server.clock.advance(3600 * SECOND);
    const after = watch(server);
    await after.turn();
    await pass(server, after, 180);
    expect(await noted(server)).toEqual(['gone agent Disconnected (NoContact)']);
    await pass(server, after, 20);
    expect(await noted(server)).toHaveLength(2);
  });

  it('marks nobody after its own process was suspended', async () => {
    await using server = await AgentServer.start();
    await server.newAgent('prod-eu');
    const watched = watch(server);
    await pass(server, watched, 40);
    server.clock.advance(3600 * SECOND);
    await pass(server, watched, 180);
    expect(await noted(server)).toEqual([]);
    await pass(server, watched, 40);
    expect(await noted(server)).toEqual(['prod-eu agent Disconnected (NoContact)']);
  });

  it('is noted once by several processes, and not of a cluster that is disabled or never registered', async () => {
    await using server = await AgentServer.start();
    await server.newAgent('prod-eu');
    await server.newAgent('disabled', { disabled_at: server.clock.now().toISOString() });
    await server.newCluster('pending');
    const processes = [watch(server), watch(server)];
    for (let turn = 0; turn < 12; turn += 1) {
      server.clock.advance(20 * SECOND);
      await Promise.all(processes.map(async (process) => await process.turn()));
    }
    expect(await noted(server)).toEqual(['prod-eu agent Disconnected (NoContact)']);
  });
});
