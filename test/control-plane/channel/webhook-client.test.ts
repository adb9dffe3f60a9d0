import { createHmac } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { WebhookClient } from '../../../src/control-plane/channel/webhook-client.ts';
import type { Lookup } from '../../../src/control-plane/guarded-lookup.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

const NOW = new Date('2026-03-01T10:00:00Z');
const SECRET = new Secret(`whsec_${Buffer.alloc(32, 7).toString('base64')}`);
const MESSAGE = { id: 'msg_1', body: '{"text":"hello"}' };

function resolvesTo(...addresses: readonly LookupAddress[]): Lookup {
  return (_hostname, _options, done) => {
    done(null, [...addresses]);
  };
}

async function post(url: string, options: { readonly allowPrivate: boolean; readonly lookup?: Lookup }) {
  await using client = new WebhookClient({ now: () => NOW, ...options });
  return await client.post({ url: new Secret(url), secret: SECRET }, MESSAGE, new AbortController().signal);
}

describe('WebhookClient', () => {
  it('posts JSON, signed as Standard Webhooks has it', async () => {
    await using receiver = await WebhookReceiver.start();
    expect(await post(receiver.url, { allowPrivate: true })).toEqual({ state: 'taken', answer: 'answered 200' });
    const [got] = receiver.received;
    expect(got?.body).toBe(MESSAGE.body);
    expect(got?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'webhook-timestamp': '1772359200',
    });
    const mac = createHmac('sha256', Buffer.alloc(32, 7)).update(`msg_1.1772359200.${MESSAGE.body}`).digest('base64');
    expect(got?.headers['webhook-signature']).toBe(`v1,${mac}`);
  });

  it.for([
    ['10.0.0.1', 4],
    ['127.0.0.1', 4],
    ['169.254.169.254', 4],
    ['::1', 6],
    ['::ffff:127.0.0.1', 6],
  ] as const)('does not call a name that resolves to %s', async ([address, family]) => {
    const lookup = resolvesTo({ address: '1.1.1.1', family: 4 }, { address, family });
    expect(await post('https://hooks.example.com/x', { allowPrivate: false, lookup })).toEqual({
      state: 'retry',
      answer: 'the name resolves to an address outside of the public network',
    });
  });

  it('does not call an address that was stored while it was allowed', async () => {
    await using receiver = await WebhookReceiver.start();
    const outcome = await post(receiver.url, { allowPrivate: false });
    expect(outcome).toMatchObject({ state: 'retry', answer: expect.stringContaining('public network') });
    expect(receiver.received).toEqual([]);
  });

  it('says what went wrong without the address', async () => {
    const receiver = await WebhookReceiver.start();
    const { url } = receiver;
    await receiver[Symbol.asyncDispose]();
    expect(await post(url, { allowPrivate: true })).toEqual({ state: 'retry', answer: 'failed (ECONNREFUSED)' });
    const lookup: Lookup = (_hostname, _options, done) => {
      done(Object.assign(new Error('getaddrinfo ENOTFOUND hooks.example.com'), { code: 'ENOTFOUND' }), []);
    };
    expect(await post('https://hooks.example.com/x', { allowPrivate: false, lookup })).toEqual({
      state: 'retry',
      answer: 'failed (ENOTFOUND)',
    });
  });

  it('rejects when it is told to stop', async () => {
    await using client = new WebhookClient({ now: () => NOW, allowPrivate: true });
    const stop = AbortSignal.abort(new Error('stopping'));
    const to = { url: new Secret('http://127.0.0.1:1/x'), secret: SECRET };
    await expect(client.post(to, MESSAGE, stop)).rejects.toThrow('stopping');
  });
});
