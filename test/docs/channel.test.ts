import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { signWebhook } from '../../src/control-plane/channel/webhook-signature.ts';
import { messageBody } from '../../src/control-plane/channel/message-body.ts';
import { CHANNEL_REASONS } from '../../src/events/ingest/channel-reasons.ts';
import { Secret } from '../../src/runtime/secret.ts';

const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'channel.md'), 'utf8');
const block = (language: string): string => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(text)?.[1] ?? '';

interface Delivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly secret: string;
  readonly now: number;
}

const VECTOR =
  /secret `(?<secret>[^`]+)`, the id `(?<id>[^`]+)`, the timestamp `(?<timestamp>\d+)` and the body `(?<body>[^`]+)` the signature is `(?<signature>[^`]+)`/;

describe('docs/channel.md', () => {
  it('has a vector that is ours', () => {
    const { secret = '', id = '', timestamp = '', body = '', signature } = VECTOR.exec(text)?.groups ?? {};
    const at = new Date(Number(timestamp) * 1000);
    expect(signWebhook({ secret: new Secret(secret), id, at, body })).toEqual({
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signature,
    });
  });

  it('verifies a message by its example, and nothing else', async () => {
    const module = `data:text/javascript,${encodeURIComponent(block('js'))}`;
    const { isGenuine } = (await import(module)) as { isGenuine: (delivery: Delivery) => boolean };
    const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    const at = new Date('2026-03-01T10:00:00Z');
    const body = '{"text":"prod-eu: credential rotated ✓"}';
    const headers = signWebhook({ secret: new Secret(secret), id: 'msg_1', at, body });
    const genuine: Delivery = { headers, body, secret, now: at.getTime() + 299_000 };
    expect(isGenuine(genuine)).toBe(true);
    expect(
      isGenuine({
        ...genuine,
        headers: { ...headers, 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` },
      }),
    ).toBe(true);
    for (const change of [
      { body: `${body} ` },
      { secret: `whsec_${Buffer.alloc(32, 8).toString('base64')}` },
      { now: at.getTime() + 302_000 },
      { now: at.getTime() - 302_000 },
      { headers: { ...headers, 'webhook-id': 'msg_2' } },
      { headers: { ...headers, 'webhook-timestamp': '' } },
      { headers: { 'webhook-id': 'msg_1' } },
      { headers: {} },
    ]) {
      expect(isGenuine({ ...genuine, ...change })).toBe(false);
    }
  });

  it('shows a body as it is sent', () => {
    const shown = JSON.parse(block('json')) as { metadata: { event_payload: Record<string, string> } };
    const { id = '', at = '', reason = '', cluster_id = '', text: said = '' } = shown.metadata.event_payload;
    const sent = messageBody({
      id: 1,
      message_key: id,
      organization_id: 'org-1',
      at,
      cluster_id,
      category: 'deploy',
      reason,
      text: said,
      resource_ref:
        '{"apiVersion":"apps.service.io/v1alpha1","kind":"ApplicationInstance","name":"podinfo","namespace":"shop"}',
      told_by: '',
      told_at: at,
      event_seq: 1,
      object_key: null,
      standing: null,
    });
    expect(JSON.parse(sent)).toEqual(shown);
  });

  it('lists every reason', () => {
    for (const [reason, { category }] of CHANNEL_REASONS) {
      const row = text.split('\n').find((line) => line.startsWith(`| \`${category}\``)) ?? '';
      expect(row).toContain(`\`${reason}\``);
    }
  });
});
