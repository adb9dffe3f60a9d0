import { randomBytes } from 'node:crypto';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Agent, fetch } from 'undici';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/control-plane/config.ts';
import { startControlPlane } from '../../src/control-plane/start-control-plane.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { INSTALL, PODINFO } from '../control-plane/running-control-plane.ts';
import { issuePrivateChain } from '../support/private-authority.ts';
import { decoded, NAMESPACE, OperatorWorld } from './operator-world.ts';

const TOKEN = 'a-token-of-thirty-two-characters';
const NAME = 'service-operator-credentials';

describe('a control plane whose private certificate comes without its root', () => {
  it('warns at its start, and works with an operator that was given the root', { timeout: 60_000 }, async () => {
    const chain = await issuePrivateChain('private');
    await using folder = await mkdtempDisposable(join(tmpdir(), 'private-ca-'));
    const [cert, key] = [join(folder.path, 'tls.crt'), join(folder.path, 'tls.key')];
    await writeFile(cert, chain.leaf + chain.intermediate);
    await writeFile(key, chain.key);
    const config = readConfig({
      SERVICE_LISTEN: '127.0.0.1:0',
      SERVICE_DATA_DIR: join(folder.path, 'data'),
      SERVICE_ADMIN_TOKEN: TOKEN,
      SERVICE_TLS_CERT: cert,
      SERVICE_TLS_KEY: key,
    });
    const log: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => log.push(line) });
    await using plane = await startControlPlane(config, {
      clock: systemClock,
      randomBytes,
      random: Math.random,
      logger,
    });
    expect(log.join('')).toContain('SERVICE_TLS_CERT does not hold the self-signed root of its chain');

    await using owned = new AsyncDisposableStack();
    const dispatcher = owned.adopt(new Agent({ connect: { ca: chain.root } }), async (agent) => await agent.close());
    const call = async (method: string, path: string, body: unknown): Promise<Record<string, unknown>> => {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
      const answer = await fetch(`${plane.url}/api/v1${path}`, {
        dispatcher,
        method,
        headers,
        body: JSON.stringify(body),
      });
      expect(answer.ok).toBe(true);
      return (await answer.json()) as Record<string, unknown>;
    };
    await call('PUT', '/catalog/podinfo', PODINFO);
    const { registrationToken } = await call('POST', '/clusters', {
      slug: 'eu',
      displayName: 'Europe',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: [],
      connectivityMode: 'gitops',
    });
    await call('POST', '/clusters/eu/intents', INSTALL);

    await using world = await OperatorWorld.start();
    const data = { 'ca.crt': Buffer.from(chain.root).toString('base64') };
    const metadata = { name: NAME, namespace: NAMESPACE };
    await world.cluster.api.create({ apiVersion: 'v1', kind: 'Secret', metadata, data }, 'kubectl');
    await world.join(plane.url, String(registrationToken));
    await world.start();
    await world.until('Connected', 'True', 'ControlPlaneReachable');
    // Git too goes by that root.
    await world.until('Synced', 'True', 'Applied');
    expect(decoded(await world.secret(NAME), 'ca.crt')).toBe(chain.root);
  });
});
