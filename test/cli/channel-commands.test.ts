import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { WebhookReceiver } from '../control-plane/channel/webhook-receiver.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';

let plane: RunningControlPlane;
let receiver: WebhookReceiver;

async function run(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let out = '';
  let err = '';
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: file('token') };
  const code = await servicectl(args, { env, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

function file(name: string): string {
  return join(plane.folder, name);
}

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, { SERVICE_CHANNEL_ALLOW_PRIVATE: 'true' });
  receiver = await WebhookReceiver.start();
  writeFileSync(file('token'), plane.token);
  writeFileSync(file('url'), `${receiver.url}\n`);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

describe('servicectl channel', () => {
  it('adds a webhook from a file, tests, lists and deletes it', async () => {
    const added = await run('channel', 'webhooks', 'add', 'chat', '--url-file', file('url'));
    expect(added).toEqual({ code: 0, out: expect.stringMatching(/^whsec_\S+\n$/), err: '' });
    expect(await run('channel', 'webhooks', 'test', 'chat')).toEqual({ code: 0, out: 'answered 200\n', err: '' });
    const listed = await run('channel', 'webhooks', 'list');
    expect(listed.out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['NAME', 'HOST', 'STATE', 'WAITING', 'DROPPED', 'LAST SENT', 'REASON'],
      ['chat', `127.0.0.1:${receiver.port}`, 'ok', '0', '0', '-', '-'],
      [''],
    ]);
    expect((await run('channel', 'webhooks', 'enable', 'chat')).out).toBe('webhook chat is sent to again\n');
    expect((await run('channel', 'webhooks', 'delete', 'chat')).out).toBe('webhook chat is deleted\n');
    expect(await run('channel', 'webhooks', 'list', '-o', 'json')).toMatchObject({ out: '{\n  "items": []\n}\n' });
  });

  it('ends with 1 when the test message is not taken', async () => {
    await run('channel', 'webhooks', 'add', 'broken', '--url-file', file('url'));
    receiver.replies.push({ status: 500 });
    expect(await run('channel', 'webhooks', 'test', 'broken')).toEqual({
      code: 1,
      out: '',
      err: 'servicectl: the test message was not taken: answered 500\n',
    });
  });

  it('lists messages as lines or JSON, by filters', async () => {
    await plane.execute(
      `INSERT INTO channel_messages (message_key, organization_id, at, category, reason, text, told_by, told_at)
       SELECT 'msg_1', id, '2026-03-01T10:00:00.000Z', 'deploy', 'HelmReleaseReady', 'prod-eu: a is ready', '', ''
       FROM organizations WHERE name = 'default'`,
    );
    const line = '2026-03-01T10:00:00.000Z  prod-eu: a is ready\n';
    expect(await run('channel', 'list')).toEqual({ code: 0, out: line, err: '' });
    expect((await run('channel', 'list', '--category', 'deploy', '--reason', 'HelmReleaseReady')).out).toBe(line);
    expect((await run('channel', 'list', '--category', 'backup')).out).toBe('');
    expect(JSON.parse((await run('channel', 'list', '--output', 'json')).out)).toMatchObject({
      items: [{ id: 'msg_1', category: 'deploy' }],
    });
  });

  it.for([
    [['channel', 'list', '--category', 'weather'], 2, "argument 'weather' is invalid"],
    [['channel', 'list', '--limit', '501'], 1, '/limit'],
    [['channel', 'list', '--cluster', 'nowhere'], 1, 'servicectl clusters list'],
    [['channel', 'webhooks', 'add', 'chat'], 2, "required option '--url-file <file>' not specified"],
    [['channel', 'webhooks', 'add', 'chat', '--url-file', '/nonexistent'], 2, '/nonexistent cannot be read (ENOENT)'],
    [['channel', 'webhooks', 'delete', 'nowhere'], 1, 'servicectl channel webhooks list'],
  ] as const)('says what is wrong with %o', async ([args, code, message]) => {
    const ran = await run(...args);
    expect(ran.code).toBe(code);
    expect(ran.err).toContain(message);
  });
});
