import { describe, expect, it } from 'vitest';
import { CHANNEL_REASONS } from '../../../src/events/ingest/channel-reasons.ts';
import { ChannelWorld } from './channel-world.ts';
import { CLUSTER, INSTANCE, outcome } from './outcome-event.ts';

const AT = '2026-03-01T10:00:00Z';

describe('the discussion channel', () => {
  it.for([...CHANNEL_REASONS])('hears of %s as %o', async ([reason, { category, says }]) => {
    await using world = await ChannelWorld.start();
    const resourceRef = category === 'credential' ? CLUSTER : INSTANCE;
    await world.post([outcome({ reason, message: 'in its words' }, { resourceRef })]);
    const rows = await world.server.store.db.selectFrom('channel_messages').selectAll().execute();
    const object = category === 'credential' ? '' : 'shop/podinfo ';
    expect(rows).toMatchObject([
      { category, reason, cluster_id: world.agent.id, text: `prod-eu: ${object}${says}: in its words` },
    ]);
  });

  it('hears of what is not audited, and not of other reasons', async () => {
    await using world = await ChannelWorld.start();
    await world.post([
      outcome({ reason: 'HelmReleaseReady', message: 'podinfo 6.5.0 runs' }),
      outcome({ type: 'Reconciling', reason: 'HelmReleaseUpgrading' }),
      outcome({ type: 'Connected', reason: 'ControlPlaneReachable' }, { resourceRef: CLUSTER }),
      outcome({ reason: 'toString' }),
    ]);
    expect(await world.texts()).toEqual(['prod-eu: shop/podinfo is ready: podinfo 6.5.0 runs']);
    const audited = await world.server.store.db.selectFrom('audit').select('reason').execute();
    expect(audited.map(({ reason }) => reason)).not.toContain('HelmReleaseReady');
  });

  it('is told once, however often a post is sent', async () => {
    await using world = await ChannelWorld.start();
    const events = [outcome({ reason: 'HelmReleaseReady' })];
    for (let attempt = 0; attempt < 3; attempt += 1) expect((await world.post(events)).status).toBe(204);
    expect(await world.texts()).toHaveLength(1);
  });

  it('is not told again by a snapshot after a restart, nor by a change of spec that changes nothing visible', async () => {
    await using world = await ChannelWorld.start();
    const first = outcome({ reason: 'HelmReleaseReady' }, { sequence: '1.1' });
    await world.post([first]);
    await world.post([{ ...first, sequence: '2.1', timestamp: '2026-03-02T10:00:00Z' }]);
    const later = { ...INSTANCE, generation: 2 };
    await world.post([{ ...first, eventKey: `${first.eventKey}+`, resourceRef: later, sequence: '2.2' }]);
    expect(await world.texts()).toHaveLength(1);
  });

  it('is told nothing new by a release that becomes Ready once more without having been released', async () => {
    await using world = await ChannelWorld.start();
    const running = { reason: 'HelmReleaseUpgraded', message: 'podinfo 6.6.1 runs as shop/podinfo, Helm revision 2' };
    await world.post([outcome(running, { source: { intentId: 'int-1' } })]);
    // Options of another intent, a suspension by hand, a look anew: Ready goes and comes, each time of another transition.
    await world.post([
      outcome({ reason: 'Suspended', status: 'False' }),
      outcome(running, { source: { intentId: 'int-2' }, resourceRef: { ...INSTANCE, generation: 2 } }),
    ]);
    await world.post([outcome(running)]);
    expect(await world.texts()).toHaveLength(1);
    const next = { ...running, message: 'podinfo 6.6.1 runs as shop/podinfo, Helm revision 3' };
    await world.post([outcome(next)]);
    expect(await world.texts()).toHaveLength(2);
  });

  it('is told of a second upgrade to the same version after a failure, even where the revision is the one from before', async () => {
    await using world = await ChannelWorld.start();
    const running = { reason: 'HelmReleaseReady', message: 'podinfo 6.5.0 runs as shop/podinfo, Helm revision 1' };
    const failure = { reason: 'HelmReleaseUpgradeFailed', status: 'False', message: 'no image' } as const;
    await world.post([outcome(running), outcome(failure, { source: { intentId: 'int-2' } })]);
    await world.post([outcome(running)]);
    await world.post([outcome(running)]);
    expect((await world.texts()).toSorted()).toEqual([
      'prod-eu: shop/podinfo could not be upgraded: no image',
      `prod-eu: shop/podinfo is ready: ${running.message}`,
      `prod-eu: shop/podinfo is ready: ${running.message}`,
    ]);
  });

  it('is told once that an object is gone, by whoever saw it go and whoever finds it gone', async () => {
    await using world = await ChannelWorld.start();
    const gone = { reason: 'Uninstalled', status: 'False' } as const;
    const about = { source: { intentId: 'int-2' } };
    await world.post([outcome({ ...gone, message: 'release podinfo is uninstalled' }, about)]);
    await world.post([outcome({ ...gone, message: 'the object is not in the cluster' }, about)]);
    expect(await world.texts()).toEqual(['prod-eu: shop/podinfo was uninstalled: release podinfo is uninstalled']);
  });

  it('is told of a failure once for each intent that meets it, however long it lasts', async () => {
    await using world = await ChannelWorld.start();
    const at = { lastTransitionTime: AT, message: 'no image' };
    const failure = { ...at, reason: 'HelmReleaseUpgradeFailed', status: 'False' } as const;
    for (const intentId of ['int-1', 'int-2']) {
      const about = { source: { intentId }, resourceRef: { ...INSTANCE, generation: intentId === 'int-1' ? 1 : 2 } };
      await world.post([outcome(failure, about)]);
      const remedy = { type: 'Degraded', reason: 'HelmReleaseRolledBack', message: 'no image; then: rolled back' };
      // An hour later: by then nobody would know it for the same by its time.
      await world.post([outcome(remedy, about), outcome({ ...failure, type: 'Stalled', status: 'True' }, about)]);
    }
    expect((await world.texts()).map((text) => text.split(': ')[1] ?? '').toSorted()).toEqual([
      'shop/podinfo could not be upgraded',
      'shop/podinfo could not be upgraded',
      'shop/podinfo was rolled back',
      'shop/podinfo was rolled back',
    ]);
  });

  it('is told once of a failure that stands in three conditions', async () => {
    await using world = await ChannelWorld.start();
    const failure = { reason: 'HelmReleaseUpgradeFailed', message: 'no image' };
    const at = { timestamp: '2026-03-01T12:00:00Z' };
    await world.post([
      outcome({ ...failure, status: 'False' }, at),
      outcome({ ...failure, type: 'Reconciling', status: 'False' }, at),
    ]);
    await world.post([outcome({ ...failure, type: 'Degraded' }, { timestamp: '2026-03-01T12:00:01Z' })]);
    expect(await world.texts()).toEqual(['prod-eu: shop/podinfo could not be upgraded: no image']);
  });

  it('is told once of a rotation that is an event, a condition and in every heartbeat, and again a week later', async () => {
    await using world = await ChannelWorld.start();
    const rotated = { type: 'Authenticated', reason: 'CredentialRotated', lastTransitionTime: AT } as const;
    const about = { resourceRef: CLUSTER, timestamp: AT };
    const direct = outcome(
      { ...rotated, message: 'a new credential is in use' },
      { ...about, kind: 'CredentialRotated', eventKey: 'CredentialRotated/cluster-uid/Authenticated' },
    );
    await world.post([direct, outcome({ ...rotated, message: 'until 2026-04-01' }, about)]);
    const beat = { ...about, kind: 'ClusterHeartbeat', eventKey: 'ClusterHeartbeat/cluster-uid@1' } as const;
    await world.post([outcome(rotated, beat)]);
    expect(await world.texts()).toEqual(['prod-eu: credential rotated: a new credential is in use']);
    const [condition] = direct.conditions;
    const week = { ...condition, lastTransitionTime: '2026-03-08T10:00:00Z' } as NonNullable<typeof condition>;
    await world.post([{ ...direct, conditions: [week] }]);
    expect(await world.texts()).toHaveLength(2);
  });

  it('names the version of the chart where an intent is behind it', async () => {
    await using world = await ChannelWorld.start();
    const { store, clock } = world.server;
    await store.write(async (trx) => {
      const at = clock.now().toISOString();
      await trx
        .insertInto('intents')
        .values({
          id: 'int-1',
          organization_id: 'org-1',
          cluster_id: world.agent.id,
          target_kind: 'ApplicationInstance',
          namespace: 'shop',
          name: 'podinfo',
          generation: 1,
          action: 'update',
          record: '{"chartVersion":"6.6.1"}',
          idempotency_key: 'intent/1',
          state: 'delivered',
          requested_by: 'admin',
          accepted_at: at,
        })
        .execute();
    });
    const source = { intentId: 'int-1' };
    await world.post([outcome({ reason: 'HelmReleaseUpgraded' }, { source })]);
    expect(await world.texts()).toEqual(['prod-eu: shop/podinfo 6.6.1 was upgraded']);
  });

  it('makes one line of whatever a cluster says', async () => {
    await using world = await ChannelWorld.start();
    const message = `first\r\nother: shop/evil is\u202e ready\u2028${'x'.repeat(5000)}`;
    await world.post([outcome({ reason: 'HelmReleaseReady', message })]);
    const [text = ''] = await world.texts();
    expect(text).toMatch(/^prod-eu: shop\/podinfo is ready: first other: shop\/evil is  ready x+…$/);
    expect(text).toHaveLength(2000);
  });

  it('hears nothing of a post that is refused', async () => {
    await using world = await ChannelWorld.start();
    const bad = { ...outcome({ reason: 'HelmReleaseReady' }), kind: 'Nonsense' as never };
    expect((await world.post([outcome({ reason: 'HelmReleaseReady' }), bad])).status).toBe(400);
    expect(await world.texts()).toEqual([]);
  });
});
