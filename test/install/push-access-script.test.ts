import { execFile, spawnSync } from 'node:child_process';
import { chmod, mkdtempDisposable, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { expect, it } from 'vitest';
import { readTokenClaims } from '../../src/control-plane/push/token-claims.ts';
import { pushAccessScript } from '../../src/install/render-push-access.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { KubeHttp } from '../support/cluster-contract/kube-http.ts';

const hasKubectl = spawnSync('kubectl', ['version', '--client']).error === undefined;
const PATH = process.env['PATH'] ?? '';

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function runScript(script: string, cwd: string, env: Readonly<Record<string, string>>): Promise<Ran> {
  return await new Promise((resolve) => {
    const child = execFile('/bin/sh', { cwd, env, timeout: 60_000 }, (_, out, err) =>
      resolve({ code: child.exitCode, out, err }),
    );
    child.stdin?.end(script);
  });
}

const folderFor = async (): ReturnType<typeof mkdtempDisposable> =>
  await mkdtempDisposable(join(tmpdir(), 'push-access-'));

it('says what it waits for, and ends where the cluster puts no token into the Secret', async () => {
  await using folder = await folderFor();
  for (const [name, body] of [
    ['kubectl', 'case "$*" in *"get secret"*) echo asked >>asked;; *) /bin/cat >/dev/null;; esac'],
    ['sleep', ':'],
  ] as const) {
    await writeFile(join(folder.path, name), `#!/bin/sh\n${body}\n`);
    await chmod(join(folder.path, name), 0o755);
  }
  const script = pushAccessScript({ slug: 'prod-eu', namespaces: ['shop'], tokenSecret: true });
  const ran = await runScript(script, folder.path, { PATH: `${folder.path}:${PATH}` });
  expect(ran).toMatchObject({ code: 1, out: '' });
  expect(ran.err.split('\n')).toEqual([
    'waiting for the cluster to put a token into Secret service-system/service-control-plane-token',
    expect.stringMatching(/^there is no token in it after a minute: /),
    '',
  ]);
  expect((await readFile(join(folder.path, 'asked'), 'utf8')).split('\n')).toHaveLength(61);
  await expect(readFile(join(folder.path, 'prod-eu.push.kubeconfig'))).rejects.toThrow('ENOENT');
});

it.skipIf(!hasKubectl).each([
  ['a token of its account', {}, true],
  ['the token of a Secret', { tokenSecret: true }, false],
])('makes on the sandbox a kubeconfig with %s', async (_, more, ends) => {
  await using folder = await folderFor();
  await using sandbox = await startSandbox();
  await using http = new KubeHttp(sandbox.kubeconfig());
  for (const name of ['service-system', 'shop']) {
    expect((await http.post('/api/v1/namespaces', { metadata: { name } })).status).toBe(201);
  }
  const admin = join(folder.path, 'admin');
  await writeFile(admin, sandbox.kubeconfig());
  const script = pushAccessScript({ slug: 'prod-eu', namespaces: ['shop'], ...more });
  const ran = await runScript(script, folder.path, { PATH, HOME: folder.path, KUBECONFIG: admin });
  expect([ran.code, ran.err]).toEqual([0, expect.not.stringContaining('rror')]);
  const made = parse(await readFile(join(folder.path, 'prod-eu.push.kubeconfig'), 'utf8')) as {
    readonly users: readonly [{ readonly user: { readonly token: string } }];
  };
  const { token } = made.users[0].user;
  const claims = readTokenClaims(new Secret(token));
  expect(claims.subject).toBe('system:serviceaccount:service-system:service-control-plane');
  expect(claims.expiresAt !== undefined).toBe(ends);
  const authorization = `Bearer ${token}`;
  expect((await http.get('/api/v1/namespaces/shop', { authorization })).status).toBe(200);
});

it('ends where a token is refused, and leaves no file that somebody else may read', async () => {
  await using folder = await folderFor();
  const file = join(folder.path, 'prod-eu.push.kubeconfig');
  const config = '*tls-server-name*) echo api.example.com;; *proxy-url*) echo http://proxy.example.com;;';
  const stub = async (token: string): Promise<void> => {
    const body = `case "$*" in *"create token"*) ${token};; ${config} *"config view"*) echo x;; *) /bin/cat >/dev/null;; esac`;
    await writeFile(join(folder.path, 'kubectl'), `#!/bin/sh\n${body}\n`);
    await chmod(join(folder.path, 'kubectl'), 0o755);
  };
  const script = pushAccessScript({ slug: 'prod-eu', namespaces: ['shop'] });
  const env = { PATH: `${folder.path}:${PATH}` };
  await writeFile(file, 'of an earlier day', { mode: 0o644 });
  await stub('exit 3');
  expect((await runScript(script, folder.path, env)).code).toBe(1);
  expect(await readFile(file, 'utf8')).toBe('of an earlier day');
  await stub('echo a-token');
  expect((await runScript(script, folder.path, env)).code).toBe(0);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const made = parse(await readFile(file, 'utf8')) as { clusters: unknown; users: unknown };
  expect(made.clusters).toMatchObject([
    { cluster: { 'tls-server-name': 'api.example.com', 'proxy-url': 'http://proxy.example.com' } },
  ]);
  expect(made.users).toMatchObject([{ user: { token: 'a-token' } }]);
});
