import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicectl } from '../../../src/cli/servicectl.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { RunningControlPlane } from '../running-control-plane.ts';

const clock = new SkippingClock();
let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start(clock);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

describe('admin tokens', () => {
  it('are shown when they are made, never again, and act under their name', async () => {
    const made = await plane.call('POST', '/admin-tokens', {
      name: 'anna@example.com',
      roles: ['security', 'platform'],
    });
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'anna@example.com', roles: ['platform', 'security'], token: expect.stringMatching(/^svcadm_/) },
    });
    const token = String(made.body['token']);
    expect((await plane.call('PUT', '/catalog/x', ENTRY, { token })).status).toBe(200);
    expect((await plane.call('GET', '/audit?kind=CatalogEntryUpdated')).body['items'][0]).toMatchObject({
      actor: 'anna@example.com',
    });
    const { body } = await plane.call('GET', '/admin-tokens');
    expect(body['items'].map(({ name, roles }: { name: string; roles: string[] }) => [name, roles])).toEqual([
      ['admin', []],
      ['anna@example.com', ['platform', 'security']],
    ]);
    expect(JSON.stringify(body)).not.toContain(token);
  });

  it('end when their time is over, and when they are deleted', async () => {
    const { body: short } = await plane.call('POST', '/admin-tokens', { name: 'short', expiresInSeconds: 60 });
    const { body: lasting } = await plane.call('POST', '/admin-tokens', { name: 'lasting' });
    clock.skip(61_000);
    expect((await plane.call('GET', '/clusters', undefined, { token: short['token'] })).body['error']).toBe(
      'expired_token',
    );
    expect((await plane.call('GET', '/clusters', undefined, { token: lasting['token'] })).status).toBe(200);
    expect((await plane.call('DELETE', '/admin-tokens/lasting')).status).toBe(204);
    expect((await plane.call('GET', '/clusters', undefined, { token: lasting['token'] })).body['error']).toBe(
      'invalid_token',
    );
    expect(await plane.call('DELETE', '/admin-tokens/lasting')).toMatchObject({
      status: 404,
      body: { error: 'not_found' },
    });
  });

  it('keep one who can come in: the last that still counts cannot be deleted', async () => {
    const only = plane.addOrganization('small');
    const as = { token: only };
    await plane.call('POST', '/admin-tokens', { name: 'brief', expiresInSeconds: 60 }, as);
    clock.skip(61_000);
    expect(await plane.call('DELETE', '/admin-tokens/small-admin', undefined, as)).toMatchObject({
      status: 409,
      body: { error: 'conflict', message: expect.stringContaining('the last one') },
    });
    await plane.call('POST', '/admin-tokens', { name: 'next' }, as);
    expect((await plane.call('DELETE', '/admin-tokens/small-admin', undefined, as)).status).toBe(204);
  });

  it.for([
    ['a name that is taken', { name: 'taken' }, 409, '/name'],
    ['the name of the configured one', { name: 'admin' }, 400, '/name'],
    ['a name that is none', { name: 'A B' }, 400, '/name'],
    ['a role that is none', { name: 'b', roles: ['Security!'] }, 400, '/roles/0'],
    ['a life of a second', { name: 'b', expiresInSeconds: 1 }, 400, '/expiresInSeconds'],
  ] as const)('refuse %s', async ([, body, status, path]) => {
    await plane.call('POST', '/admin-tokens', { name: 'taken' });
    const answer = await plane.call('POST', '/admin-tokens', body);
    expect(answer).toMatchObject({ status, body: { faults: [expect.objectContaining({ path })] } });
  });

  it('leave the configured one to the environment, and keep it over a restart', async () => {
    expect(await plane.call('DELETE', '/admin-tokens/admin')).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('SERVICE_ADMIN_TOKEN') },
    });
    const since = () => plane.query("SELECT created_at FROM admin_tokens WHERE name = 'admin'");
    const before = since();
    clock.skip(1000);
    await plane.restart();
    expect(since()).toEqual(before);
  });

  it('are made, listed and deleted on the command line', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'admin-tokens-')), 'token');
    writeFileSync(file, plane.token);
    const run = async (...args: string[]): Promise<[number, string]> => {
      let text = '';
      const write = (part: string): void => void (text += part);
      const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: file };
      return [await servicectl(['admin-tokens', ...args], { out: write, err: write, env }), text];
    };
    const [status, token] = await run('create', 'ops', '--role', 'ops', '--role', 'security', '--expires-in', '12h');
    expect([status, token]).toEqual([0, expect.stringMatching(/^svcadm_\S+\n$/)]);
    const [, list] = await run('list');
    expect(list).toMatch(/^ops +- +admin +ops,security +\S+ +\S+ +-$/m);
    expect(list).not.toContain(token.trim());
    expect(await run('create', 'x', '--expires-in', 'soon')).toEqual([2, expect.stringContaining('12h')]);
    expect(await run('delete', 'ops')).toEqual([2, expect.stringContaining('nothing was done')]);
    expect(await run('delete', 'ops', '--yes')).toEqual([0, 'admin token ops is deleted\n']);
    expect((await plane.call('GET', '/clusters', undefined, { token: token.trim() })).status).toBe(401);
  });
});

const ENTRY = {
  chart: { type: 'oci', url: 'oci://ghcr.io/stefanprodan/charts/podinfo', name: 'podinfo' },
  versions: '>=6.5.0 <7',
};
