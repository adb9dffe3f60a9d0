import { describe, expect, it } from 'vitest';
import { MAX_QUEUED } from '../../../src/control-plane/store/channel-outbox.ts';
import { enableWebhook } from '../../../src/control-plane/store/channel-webhooks.ts';
import { ChannelWorld } from './channel-world.ts';
import { INSTANCE, outcome } from './outcome-event.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

const DAY_MS = 24 * 3_600_000;

function ready(name: string) {
  return outcome({ reason: 'HelmReleaseReady' }, { resourceRef: { ...INSTANCE, name, uid: name } });
}

const said = (name: string): string => `prod-eu: shop/${name} is ready`;

describe('ChannelSender', () => {
  it('sends what events told, in their order, to every webhook', async () => {
    await using world = await ChannelWorld.start();
    await using first = await WebhookReceiver.start();
    await using second = await WebhookReceiver.start();
    await world.addWebhook('first', first.url);
    await world.post([ready('a')]);
    await world.addWebhook('second', second.url);
    await world.post([ready('b'), ready('c')]);
    await world.send();
    expect(first.texts).toEqual([said('a'), said('b'), said('c')]);
    expect(second.texts).toEqual([said('b'), said('c')]);
    expect(await world.waiting()).toBe(0);
    expect(await world.webhook('first')).toMatchObject({ last_sent_at: '2026-03-01T10:00:00.000Z', claimed_by: null });
  });

  it.for([500, 429, 401, 302])('tries again after %s, and what is behind waits its turn', async (status) => {
    await using world = await ChannelWorld.start();
    await using receiver = await WebhookReceiver.start();
    await world.addWebhook('chat', receiver.url);
    await world.post([ready('a'), ready('b')]);
    receiver.replies.push({ status, headers: { location: `http://127.0.0.1:${receiver.port}/other` } });
    await world.send();
    expect(receiver.texts).toEqual([said('a')]);
    expect(await world.webhook('chat')).toMatchObject({
      failing_since: '2026-03-01T10:00:00.000Z',
      last_error: expect.stringContaining(`answered ${status}`),
    });
    world.server.clock.advance(999);
    await world.send();
    expect(receiver.texts).toHaveLength(1);
    world.server.clock.advance(1);
    await world.send();
    expect(receiver.texts).toEqual([said('a'), said('a'), said('b')]);
    expect(receiver.ids[0]).toBe(receiver.ids[1]);
    expect(receiver.received.every(({ path }) => path === '/services/T0/B0/secret-path')).toBe(true);
    expect(await world.webhook('chat')).toMatchObject({ failing_since: null, last_error: null });
  });

  it.for([
    ['120', 120_000],
    ['Sun, 01 Mar 2026 10:05:00 GMT', 300_000],
    ['86400', 3_600_000],
  ] as const)('honours Retry-After: %s, up to an hour', async ([header, ms]) => {
    await using world = await ChannelWorld.start();
    await using receiver = await WebhookReceiver.start();
    await world.addWebhook('chat', receiver.url);
    await world.post([ready('a')]);
    receiver.replies.push({ status: 429, headers: { 'retry-after': header } });
    await world.send();
    world.server.clock.advance(ms - 1);
    await world.send();
    expect(receiver.texts).toHaveLength(1);
    world.server.clock.advance(1);
    await world.send();
    expect(receiver.texts).toHaveLength(2);
  });

  it('drops a message that is refused for good, counts it, and sends the next', async () => {
    await using world = await ChannelWorld.start();
    await using receiver = await WebhookReceiver.start();
    await world.addWebhook('chat', receiver.url);
    await world.post([ready('a'), ready('b')]);
    receiver.replies.push({ status: 400, body: 'invalid_payload' });
    await world.send();
    expect(receiver.texts).toEqual([said('a'), said('b')]);
    expect(await world.webhook('chat')).toMatchObject({ dropped: 1, disabled_at: null });
  });

  it.for([404, 410])(
    'gives a webhook up that answers %s, with the reason, and takes it again when asked',
    async (status) => {
      await using world = await ChannelWorld.start();
      await using receiver = await WebhookReceiver.start();
      await world.addWebhook('chat', receiver.url);
      await world.post([ready('a'), ready('b')]);
      receiver.replies.push({ status, body: 'channel_is_archived' });
      await world.send();
      const webhook = await world.webhook('chat');
      expect(webhook).toMatchObject({
        disabled_at: '2026-03-01T10:00:00.000Z',
        disabled_reason: `the receiver is gone: it answered ${status}`,
        dropped: 2,
      });
      await world.post([ready('c')]);
      await world.send();
      expect([receiver.texts.length, await world.waiting()]).toEqual([1, 0]);
      await world.server.store.write(async (trx) => await enableWebhook(trx, webhook.id));
      await world.post([ready('d')]);
      await world.send();
      expect(receiver.texts).toEqual([said('a'), said('d')]);
    },
  );

  it('gives a webhook up that took nothing for three days', async () => {
    await using world = await ChannelWorld.start();
    const receiver = await WebhookReceiver.start();
    const { url } = receiver;
    await receiver[Symbol.asyncDispose]();
    await world.addWebhook('chat', url);
    await world.post([ready('a')]);
    await world.send();
    world.server.clock.advance(3 * DAY_MS - 1);
    await world.send();
    expect(await world.webhook('chat')).toMatchObject({ disabled_at: null, last_error: 'failed (ECONNREFUSED)' });
    world.server.clock.advance(DAY_MS);
    await world.send();
    expect(await world.webhook('chat')).toMatchObject({
      disabled_reason: 'nothing was taken since 2026-03-01T10:00:00.000Z: failed (ECONNREFUSED)',
      dropped: 1,
    });
  });

  it('sends a message again under the same id when it died before it knew the answer', async () => {
    await using world = await ChannelWorld.start();
    await using receiver = await WebhookReceiver.start();
    await world.addWebhook('chat', receiver.url);
    await world.post([ready('a'), ready('b')]);
    const { db } = world.server.store;
    const before = await db.selectFrom('channel_outbox').selectAll().execute();
    await world.send();
    // As the database stood when the process was killed: the answer came, and was not stored.
    await world.server.store.write(async (trx) => {
      const [head] = before;
      if (head !== undefined) await trx.insertInto('channel_outbox').values(head).execute();
    });
    await world.restart();
    await world.send();
    expect(receiver.texts).toEqual([said('a'), said('b'), said('a')]);
    expect(receiver.ids[2]).toBe(receiver.ids[0]);
    expect(receiver.ids[1]).not.toBe(receiver.ids[0]);
  });

  it('leaves a webhook to the process that sends to it, until its claim has ended', async () => {
    await using world = await ChannelWorld.start();
    await using receiver = await WebhookReceiver.start();
    await world.addWebhook('chat', receiver.url);
    await world.post([ready('a')]);
    const until = new Date(world.server.clock.now().getTime() + 30_000).toISOString();
    await world.server.store.write(async (trx) => {
      await trx.updateTable('channel_webhooks').set({ claimed_by: 'another', claimed_until: until }).execute();
    });
    await world.send();
    expect(receiver.texts).toEqual([]);
    world.server.clock.advance(30_000);
    await world.send();
    expect(receiver.texts).toEqual([said('a')]);
  });

  it('keeps the newest thousand messages for a webhook that takes none, and counts the others', async () => {
    await using world = await ChannelWorld.start();
    await using receiver = await WebhookReceiver.start();
    await world.addWebhook('chat', receiver.url);
    for (const part of ['x', 'y', 'z']) {
      await world.post(Array.from({ length: 400 }, (_, n) => ready(`${part}${n}`)));
    }
    expect(await world.waiting()).toBe(MAX_QUEUED);
    expect(await world.webhook('chat')).toMatchObject({ dropped: 200 });
    receiver.replies.push({ status: 500 });
    await world.send();
    expect(receiver.texts).toEqual([said('x200')]);
  });
});
