import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { REGISTRATION_SECRET } from '../../src/resources/labels.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { NAMESPACE } from './operator-world.ts';
import { WholeSystem } from './whole-system.ts';

describe('the script of servicectl clusters recovery-command', () => {
  it('A8: lets an operator in again whose credential has expired, with its applications and its history', async () => {
    await using all = await WholeSystem.start();
    const { plane, world, clusterId } = all;
    await all.bring(INSTALL, 'ready');
    const before = await all.instance('podinfo');
    await plane.execute("UPDATE agent_credentials SET expires_at = '2026-01-01T00:00:00.000Z'");
    await plane.execute('UPDATE clusters SET public_key = NULL');
    // Ends the request that is held.
    await plane.call('PATCH', '/clusters/eu', { displayName: 'Europe, back' });
    await world.until('Authenticated', 'False', 'CredentialExpired');
    const tokenFile = join(plane.folder, 'token');
    writeFileSync(tokenFile, plane.token);
    const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: tokenFile };
    let token = '';
    await servicectl(['clusters', 'registration-token', 'eu'], {
      env,
      out: (text) => (token += text),
      err: () => undefined,
    });
    // What the printed command makes of its standard input.
    await world.cluster.api.create(
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: REGISTRATION_SECRET, namespace: NAMESPACE },
        data: { token: Buffer.from(token).toString('base64') },
      },
      'kubectl',
    );
    await world.until('Authenticated', 'True', 'Registered');
    expect((await all.instance('podinfo'))?.metadata.uid).toBe(before?.metadata.uid);
    const { body } = await plane.call('GET', `/clusters/${clusterId}/intents`);
    expect(body['items']).toMatchObject([{ name: 'podinfo', state: 'ready' }]);
    await all.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.0' }, 'ready');
  });
});
