import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { openMasterKey } from '../../src/control-plane/master-key.ts';
import { encryptTo, generateEncryptionKeypair } from '../../src/protocol/jwe.ts';
import { mintToken } from '../../src/protocol/token.ts';
import { StatusError } from '../../src/sandbox/status-error.ts';
import { INSTALL, PODINFO } from '../control-plane/running-control-plane.ts';
import { decoded } from '../operator/operator-world.ts';
import { watchArguments } from './child-arguments.ts';
import { leaksIn } from './leak-forms.ts';
import { LeakStage } from './leak-stage.ts';

const UPDATE = { action: 'update', namespace: 'shop', name: 'podinfo' };
/** Awkward on purpose: what is escaped, and what base64 writes with + and /. */
const secretText = (): string => `näive "€" ${randomBytes(18).toString('base64')}\\n?>~`;

it.each(['gitops', 'pull'] as const)(
  'A14: nothing secret is where somebody may look, whatever fails, in %s mode',
  { timeout: 90_000 },
  async (mode) => {
    using processes = watchArguments();
    await using stage = await LeakStage.start();
    const { plane, world } = stage;
    const secrets = new Map<string, string>([['admin token', plane.token]]);
    const remember = (name: string, secret: string): string => {
      secrets.set(name, secret);
      return secret;
    };

    const recoveryFile = join(stage.folder, 'recovery.json');
    await run(stage, 'recovery-key', 'create', '--out', recoveryFile);
    remember('recovery key', privatePart(readFileSync(recoveryFile, 'utf8')));
    const registration = remember('registration token', await stage.join(mode));
    remember('first credential', await stage.credential());
    remember('cluster key', privatePart(decoded(await world.secret('service-operator-keypair'), 'current')));

    // Registration and authentication fail.
    expect(await stage.fail('POST', '/api/agent/register', { token: registration }, null)).toBe(401);
    expect(await stage.fail('POST', '/api/agent/register', `{"token":"${registration}"`, null)).toBe(400);
    expect(await stage.fail('POST', '/api/agent/register', { token: `${registration}x` }, null)).toBe(401);
    const stranger = remember('token of nobody', mintToken('svcagt', randomBytes).expose());
    expect(await stage.fail('GET', '/api/agent/jobs?cluster=c-0000000000000000', undefined, stranger)).toBe(401);
    expect(await stage.fail('GET', '/clusters', undefined, stranger)).toBe(401);

    // What is good: installed with secret values, then the credential is rotated and the values replaced.
    const password = remember('first password', secretText());
    const install = await stage.accept({ ...INSTALL, secretValues: { auth: { password } } });
    await plane.until(install, 'ready');
    expect((await plane.call('POST', `/clusters/${stage.clusterId}/rotate`)).status).toBe(200);
    await world.until('Authenticated', 'True', 'CredentialRotated');
    remember('second credential', await stage.credential());
    const next = remember('second password', secretText());
    await plane.until(await stage.accept({ ...UPDATE, secretValues: { auth: { password: next } } }), 'ready');

    // Intents that are refused.
    const valuesSchema = {
      type: 'object',
      properties: { auth: { type: 'object', properties: { password: { type: 'string', maxLength: 3 } } } },
    };
    await plane.call('PUT', '/catalog/strict', { ...PODINFO, valuesSchema });
    const intents = `/clusters/${stage.clusterId}/intents`;
    const refused = remember('refused password', secretText());
    const bad = { ...INSTALL, name: 'bad', secretValues: { auth: { password: refused } } };
    expect(await stage.fail('POST', intents, { ...bad, catalogEntry: 'strict' })).toBe(400);
    expect(await stage.fail('POST', intents, { ...bad, namespace: 'elsewhere' })).toBe(403);
    expect(await stage.fail('POST', intents, { ...bad, chartVersion: '9.0.0' })).toBe(400);
    expect(await stage.fail('POST', intents, { ...bad, secretValues: refused })).toBe(400);
    expect(await stage.fail('POST', intents, { ...bad, secretValues: { a: refused.repeat(2000) } })).toBe(400);
    expect(await stage.fail('POST', intents, JSON.stringify(bad).slice(0, -2))).toBe(400);
    expect(await stage.fail('POST', intents, `${JSON.stringify(bad).slice(0, -1)},"name":"x"}`)).toBe(400);
    expect(await stage.fail('POST', '/clusters/nobody/intents', bad)).toBe(404);
    expect(await stage.fail('POST', intents, bad, plane.addOrganization('other'))).toBe(404);

    // The cluster refuses the Secret, in words that quote it.
    const quoted = remember('quoted password', secretText());
    const quote = `${quoted} ${Buffer.from(quoted).toString('base64')} is not allowed`;
    const takeAway = world.cluster.sandbox.faults.add({
      match: ({ method, path }) => method === 'PATCH' && path.endsWith('/secrets/podinfo-sealed-values'),
      respond: new StatusError(422, 'Invalid', quote),
    });
    await stage.accept({ ...UPDATE, secretValues: { auth: { password: quoted } } });
    await untilSaid(stage, 'ApplyFailed');
    takeAway();
    // A release that fails, with good secret values.
    const failing = { ...UPDATE, values: { replicaCount: -1 }, secretValues: { auth: { password: quoted } } };
    await plane.until(await stage.accept(failing), 'failed');
    // Values that do not open: for another key, which the control plane does not know of.
    const other = await generateEncryptionKeypair();
    const aud = `${stage.clusterId}/shop/podinfo`;
    const { kid } = JSON.parse(decoded(await world.secret('service-operator-keypair'), 'current')) as {
      kid: string;
    };
    const sealed = await encryptTo({ ...other.publicJwk, kid }, JSON.stringify({ a: quoted }), { aud });
    await stage.accept({ ...UPDATE, values: {}, sealedValues: sealed });
    await untilSaid(stage, 'SealedValuesNotOpened');
    await expect
      .poll(async () => (await plane.call('GET', '/audit?kind=JobPayloadDecryptionFailed')).body['items'], {
        timeout: 30_000,
      })
      .toHaveLength(1);

    // A Secret itself comes by the transport, put there past the control plane.
    const planted = secretText();
    await plant(stage, mode, planted);

    await failByPush(stage, remember);

    // The command line fails too, with keys that do not fit.
    const wrongKey = join(stage.folder, 'wrong.json');
    await run(stage, 'recovery-key', 'create', '--replace', '--out', wrongKey);
    remember('second recovery key', privatePart(readFileSync(wrongKey, 'utf8')));
    await run(stage, 'reseal', 'eu', '--recovery-key', wrongKey);
    await run(stage, 'reseal', 'eu', '--recovery-key', recoveryFile, '--dry-run');

    // What only the control plane knows.
    const masterKey = openMasterKey({ file: join(plane.folder, 'master.key'), randomBytes });
    remember('master key', readFileSync(join(plane.folder, 'master.key'), 'utf8').trim());
    for (const row of plane.query('SELECT kid, cluster_id, private_key_sealed FROM signing_keys')) {
      const opened = await masterKey.open(
        String(row['private_key_sealed']),
        `signing-key/${String(row['cluster_id'])}`,
      );
      remember(`signing key ${String(row['kid'])}`, privatePart(opened.expose()));
    }
    for (const row of plane.query('SELECT id, token_sealed FROM git_credentials WHERE token_sealed IS NOT NULL')) {
      const opened = await masterKey.open(String(row['token_sealed']), `git-credential/${String(row['id'])}`);
      remember(`Git credential ${String(row['id'])}`, opened.expose());
    }

    const evidence = await stage.evidence();
    evidence.set('process arguments', [...processes.seen].join('\n'));
    const leaks = [...evidence].flatMap(([where, text]) => leaksIn(text, secrets).map((leak) => `${where}: ${leak}`));
    expect(leaks).toEqual([]);
    // What was searched holds something, so that nothing found means something.
    const empty = [...evidence].flatMap(([where, text]) => (text.length < 100 ? [where] : []));
    expect(empty.sort()).toEqual(
      mode === 'gitops' ? ['Operation', 'jobs'] : ['Operation', 'files of the operator', 'git'],
    );
    expect(leaksIn(`x${Buffer.from(`ab${password}c`).toString('base64')}`, secrets)).toHaveLength(1);
    // What was planted is where it was planted, and nowhere else.
    for (const where of ['database', 'git', 'files of the operator']) evidence.delete(where);
    const spread = [...evidence].flatMap(([where, text]) => leaksIn(text, new Map([[where, planted]])));
    expect(spread).toEqual([]);
  },
);

/** A manifest of a Secret, as no intent makes one: in Git by hand, or as a job. Waits until the operator has refused it. */
async function plant(stage: LeakStage, mode: 'gitops' | 'pull', text: string): Promise<void> {
  const { plane, world } = stage;
  const data = { password: Buffer.from(text).toString('base64') };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'stolen', namespace: 'shop' }, data };
  if (mode === 'gitops') {
    editByHand(join(plane.folder, 'git', 'fleet.git'), 'clusters/eu/apps/shop/stolen.yaml', JSON.stringify(secret));
    // What is accepted next makes the operator look.
    await stage.accept({ ...INSTALL, name: 'second' });
    expect((await world.until('Synced', 'False', 'ManifestRefused')).message).toContain('stolen.yaml');
    return;
  }
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  await plane.execute(
    `INSERT INTO jobs (id, cluster_id, intent_id, kind, target_kind, namespace, name, generation, delivery_epoch,
       idempotency_key, payload, state, created_at, expires_at)
     SELECT 'job-planted', cluster_id, intent_id, 'apply', 'Secret', 'shop', 'stolen', 1, delivery_epoch,
       'secret/shop/stolen@1', ?, 'pending', created_at, ? FROM jobs LIMIT 1`,
    JSON.stringify(secret),
    soon,
  );
  await stage.accept({ ...INSTALL, name: 'second' });
  const result = async (): Promise<unknown> => (await plane.call('GET', '/jobs/job-planted')).body;
  await expect.poll(result, { timeout: 15_000 }).toMatchObject({ state: 'closed', outcome: 'failed' });
}

/** A person's commit on the branch, past the control plane. */
function editByHand(repository: string, path: string, content: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'by-hand-'));
  const git = (...args: string[]): void => {
    const who = ['-c', 'user.name=A', '-c', 'user.email=a@example.com'];
    execFileSync('git', [...who, '-C', folder, ...args], { stdio: 'pipe' });
  };
  git('clone', '--quiet', repository, '.');
  writeFileSync(join(folder, path), content);
  git('add', '--all');
  git('commit', '--quiet', '--message', 'by hand');
  git('push', '--quiet', 'origin', 'HEAD:main');
  rmSync(folder, { recursive: true });
}

function privatePart(jwk: string): string {
  const { d = '' } = JSON.parse(jwk) as { d?: string };
  expect(d).toMatch(/^[\w-]{43}$/);
  return d;
}

async function untilSaid({ world, plane, clusterId }: LeakStage, reason: string): Promise<void> {
  const ref = {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name: 'podinfo',
  };
  await expect
    .poll(async () => JSON.stringify(await world.cluster.api.get(ref)), { timeout: 15_000 })
    .toContain(reason);
  const events = async (): Promise<string> =>
    JSON.stringify((await plane.call('GET', `/clusters/${clusterId}/events?limit=500`)).body);
  await expect.poll(events, { timeout: 15_000 }).toContain(reason);
}

/** What it prints is somewhere where somebody may look. */
async function run({ plane, folder, errors }: LeakStage, ...args: string[]): Promise<number> {
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, plane.token, { mode: 0o600 });
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: tokenFile };
  const keep = (text: string): void => void errors.push(text);
  return await servicectl(args, { env, out: keep, err: keep });
}

/** A kubeconfig that is refused, one that is taken, a probe and a delivery by it that reach nobody. */
async function failByPush(stage: LeakStage, remember: (name: string, secret: string) => string): Promise<void> {
  const { plane } = stage;
  const token = remember('push token', `push-${randomBytes(24).toString('base64url')}`);
  const proxy = remember('password of a proxy', `proxy-${randomBytes(24).toString('base64url')}`);
  const kubeconfig = (user: object): string =>
    JSON.stringify({
      clusters: [
        { name: 'c', cluster: { server: 'https://127.0.0.1:1', 'proxy-url': `http://me:${proxy}@127.0.0.1:1` } },
      ],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    });
  const record = {
    slug: 'pushed',
    displayName: 'pushed',
    allowedNamespaces: ['shop'],
    allowedCatalogEntries: ['podinfo'],
    allowedOperationTemplates: [],
    connectivityMode: 'push',
  };
  const refused = { kubeconfig: kubeconfig({ token, exec: { command: token } }) };
  expect(await stage.fail('POST', '/clusters', { ...record, push: refused })).toBe(400);
  expect(
    (await plane.call('POST', '/clusters', { ...record, push: { kubeconfig: kubeconfig({ token }) } })).status,
  ).toBe(201);
  expect((await plane.call('POST', '/clusters/pushed/intents', INSTALL)).status).toBe(202);
  expect(await stage.fail('PUT', '/clusters/pushed/push-credential', refused)).toBe(400);
  const file = join(stage.folder, 'push.kubeconfig');
  writeFileSync(file, kubeconfig({ token }));
  await run(stage, 'clusters', 'push-credential', 'pushed', '--kubeconfig', file);
  await run(stage, 'clusters', 'push-credential', 'pushed', '--probe');
  rmSync(file);
  await expect
    .poll(async () => (await plane.call('GET', '/clusters/pushed')).body['push'].state, { timeout: 10_000 })
    .toBe('failing');
}
