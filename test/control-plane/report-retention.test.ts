import { describe, expect, it } from 'vitest';
import { MAX_MESSAGES, ReportRetention } from '../../src/control-plane/report-retention.ts';
import { heartbeatKey } from '../../src/protocol/event-key.ts';
import { ChannelWorld } from './channel/channel-world.ts';
import { CLUSTER, INSTANCE, outcome } from './channel/outcome-event.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

async function eventKinds(world: ChannelWorld): Promise<string[]> {
  const rows = await world.server.store.db.selectFrom('events').select(['kind', 'conditions']).orderBy('seq').execute();
  return rows.map(({ kind, conditions }) => `${kind} ${(JSON.parse(conditions) as { reason: string }[])[0]?.reason}`);
}

function beat(at: string) {
  const condition = { type: 'ControllersHealthy', reason: 'ControllersRunning' };
  const more = { kind: 'ClusterHeartbeat', eventKey: heartbeatKey('cluster-uid', at), resourceRef: CLUSTER } as const;
  return outcome(condition, more);
}

describe('ReportRetention', () => {
  it('keeps heartbeats for an hour', async () => {
    await using world = await ChannelWorld.start();
    const retention = new ReportRetention(world.server);
    await world.post([beat('1'), beat('2')]);
    world.server.clock.advance(HOUR_MS / 2);
    await world.post([beat('3')]);
    await retention.turn();
    expect(await eventKinds(world)).toHaveLength(3);
    world.server.clock.advance(HOUR_MS / 2 + 1);
    await retention.turn();
    expect(await eventKinds(world)).toEqual(['ClusterHeartbeat ControllersRunning']);
  });

  it('keeps events for 90 days, and longer where they are still how something stands', async () => {
    await using world = await ChannelWorld.start();
    const retention = new ReportRetention(world.server);
    const pending = outcome({ reason: 'HelmReleasePending', status: 'False' }, { sequence: '1.1' });
    const ready = outcome({ reason: 'HelmReleaseReady' }, { sequence: '1.2' });
    await world.post([pending, ready]);
    world.server.clock.advance(90 * DAY_MS);
    await retention.turn();
    expect(await eventKinds(world)).toHaveLength(2);
    world.server.clock.advance(1);
    await retention.turn();
    await retention.turn();
    expect(await eventKinds(world)).toEqual(['ConditionTransition HelmReleaseReady']);
    // The snapshot of an operator that starts again after all that time.
    await world.server.store.write(async (trx) => {
      await trx.updateTable('agent_credentials').set({ expires_at: '2027-01-01T00:00:00.000Z' }).execute();
    });
    expect((await world.post([{ ...ready, sequence: '2.1' }])).status).toBe(204);
    expect(await eventKinds(world)).toHaveLength(1);
    expect(await world.texts()).toEqual([]);
  });

  it('forgets many in one turn', async () => {
    await using world = await ChannelWorld.start();
    const retention = new ReportRetention(world.server);
    for (let post = 0; post < 3; post += 1) {
      await world.post(Array.from({ length: 400 }, () => outcome({ reason: 'Stable', type: 'Reconciling' })));
    }
    world.server.clock.advance(91 * DAY_MS);
    await retention.turn();
    expect(await eventKinds(world)).toHaveLength(1);
  });

  it('keeps messages for 90 days and the newest ten thousand, and whatever waits for a webhook', async () => {
    await using world = await ChannelWorld.start();
    const retention = new ReportRetention(world.server);
    await world.addWebhook('chat', 'http://127.0.0.1:1/x');
    await world.post([outcome({ reason: 'HelmReleaseReady' })]);
    await world.server.store.write(async (trx) => {
      const rows = Array.from({ length: MAX_MESSAGES + 5 }, (_, n) => ({
        message_key: `msg_${n}`,
        organization_id: 'org-1',
        at: world.server.clock.now().toISOString(),
        category: 'deploy' as const,
        reason: 'HelmReleaseReady',
        text: `text ${n}`,
        told_by: '',
        told_at: '',
      }));
      while (rows.length > 0) await trx.insertInto('channel_messages').values(rows.splice(0, 500)).execute();
    });
    await retention.turn();
    const texts = await world.texts();
    expect(texts).toHaveLength(MAX_MESSAGES + 1);
    expect(texts.slice(0, 2)).toEqual([`prod-eu: ${INSTANCE.namespace}/${INSTANCE.name} is ready`, 'text 5']);
    world.server.clock.advance(91 * DAY_MS);
    await retention.turn();
    await retention.turn();
    expect(await world.texts()).toEqual([texts[0]]);
  });
});
