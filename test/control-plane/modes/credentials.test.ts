import { randomBytes } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { hashToken, mintToken } from '../../../src/protocol/token.ts';
import { ModeWorld } from '../../support/mode-world/mode-world.ts';

let world: ModeWorld;

afterEach(async () => await world[Symbol.asyncDispose]());

async function start(mode: 'pull' | 'gitops'): Promise<void> {
  world = await ModeWorld.start({ mode });
  const body = {
    action: 'install',
    namespace: 'shop',
    name: 'podinfo',
    catalogEntry: 'podinfo',
    chartVersion: '6.5.0',
  };
  const { body: intent } = await world.accept(body, 'first');
  await world.untilIntent(String(intent['id']), ['ready']);
}

/** A further credential of the cluster to read with: one that is known here. */
async function newReadCredential(): Promise<string> {
  const { plane } = world.plane;
  const token = mintToken('svcgit', randomBytes).expose();
  await plane.execute(
    `INSERT INTO git_credentials (id, token_hash, repository_id, access, cluster_id, created_at, expires_at)
     SELECT ?, ?, repository_id, 'read', id, '2026-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z' FROM clusters`,
    `gitcred-${token.slice(-8).toLowerCase()}`,
    hashToken(token),
  );
  return token;
}

/** What the Git host answers to the cluster's own reading. */
async function read(token: string): Promise<number> {
  const address = `${world.plane.plane.url}/git/clusters/eu.git/info/refs?service=git-upload-pack`;
  const basic = Buffer.from(`service:${token}`).toString('base64');
  return (await fetch(address, { headers: { authorization: `Basic ${basic}` } })).status;
}

async function moved(to: 'pull' | 'push' | 'gitops', more: Record<string, unknown> = {}) {
  const { status, body } = await world.requestMode(to, more);
  expect([status, body['message']]).toEqual([202, undefined]);
  return await world.untilOver(String(body['switch'].id), 30_000);
}

const TABLES = [
  'push_credentials',
  'mode_switches',
  'mode_handovers',
  'clusters',
  'intents',
  'receipts',
  'jobs',
  'audit',
];

/** What the database holds, as text. */
function everything(): string {
  const { plane } = world.plane;
  return TABLES.map((table) => JSON.stringify(plane.query(`SELECT * FROM ${table}`))).join('\n');
}

it(
  'ends the read credential once the cluster has left gitops mode, not before, and has a new one made on the way back',
  { timeout: 60_000 },
  async () => {
    await start('gitops');
    const token = await newReadCredential();
    expect(await read(token)).toBe(200);
    // The old way goes on while the new one is looked at.
    world.line.down();
    await world.plane.plane.execute("UPDATE clusters SET disconnected_at = '2099-01-01T00:00:00.000Z'");
    const { body } = await world.requestMode('pull');
    const id = String(body['switch'].id);
    await world.until('the probe', async () => ((await world.switchOf(id))['state'] === 'probing' ? true : undefined));
    expect(await read(token)).toBe(200);
    await world.plane.plane.execute('UPDATE clusters SET disconnected_at = NULL');
    world.line.up();
    const ended = await world.untilOver(id, 30_000);
    expect(ended).toMatchObject({
      state: 'active',
      credentials: [
        { kind: 'agent', change: 'kept' },
        { kind: 'git-read', name: 'fleet', change: 'revoked', at: expect.any(String) },
      ],
    });
    expect(await read(token)).toBe(401);
    const back = await moved('gitops');
    expect(back).toMatchObject({
      state: 'active',
      credentials: [
        { kind: 'git-read', name: 'fleet', change: 'created', at: expect.any(String) },
        { kind: 'agent', change: 'kept' },
      ],
    });
    expect(await read(token)).toBe(401);
  },
);

it(
  'puts a kubeconfig into use at the fence, and erases it when the cluster has left push mode or never came to it',
  { timeout: 60_000 },
  async () => {
    await start('pull');
    const kubeconfig = world.pushKubeconfig();
    world.revokePushToken();
    const refused = await moved('push', { push: { kubeconfig } });
    expect(refused).toMatchObject({
      state: 'rolled-back',
      reason: expect.stringContaining('(401)'),
      credentials: [{ kind: 'push', change: 'revoked', at: expect.any(String) }],
    });
    const tried = world.plane.plane.query('SELECT state, credential_sealed FROM push_credentials');
    expect(tried).toEqual([{ state: 'revoked', credential_sealed: null }]);
    const there = await moved('push');
    expect(there).toMatchObject({
      state: 'active',
      credentials: [
        { kind: 'push', change: 'created', at: expect.any(String), message: expect.stringContaining('sealed') },
        { kind: 'agent', change: 'kept' },
      ],
    });
    const [row] = world.plane.plane.query("SELECT * FROM push_credentials WHERE state = 'current'");
    const sealed = String(row?.['credential_sealed']);
    expect([sealed.length > 100, everything().includes(sealed)]).toEqual([true, true]);
    const gone = await moved('pull');
    expect(gone).toMatchObject({
      state: 'active',
      credentials: [
        { kind: 'agent', change: 'kept' },
        {
          kind: 'push',
          change: 'revoked',
          at: expect.any(String),
          message: expect.stringContaining('erased here. The API server would take it'),
        },
      ],
    });
    expect(world.plane.plane.query('SELECT state, credential_sealed FROM push_credentials')).toEqual(
      [1, 2].map(() => ({ state: 'revoked', credential_sealed: null })),
    );
    expect(everything().includes(sealed)).toBe(false);
  },
);
