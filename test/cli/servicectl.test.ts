import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { servicectl } from '../../src/cli/servicectl.ts';
import { REGISTRATION_SECRET_COMMAND } from '../../src/install/install-commands.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> {
  let out = '';
  let err = '';
  const code = await servicectl(args, { env, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

const kindsIn = (text: string): string[] =>
  parseAllDocuments(text).map((document) => (document.toJS() as KubeObject).kind);

it.for([
  [['git', 'log', '--no-such-option'], 'servicectl git log'],
  [['clusters', 'get'], 'servicectl clusters show'],
  [['proposals', 'shov'], 'servicectl proposals'],
  [['--no-such-option'], 'servicectl'],
] as const)('of a wrong command line %j names the help of %s', async ([args, command]) => {
  const { code, err } = await run(args);
  expect([code, err.split('\n').at(-2)]).toEqual([2, `See: ${command} --help`]);
});

describe('servicectl operator manifest', () => {
  it('prints the definitions before the operator, or one of the two', async () => {
    const [all, crds, operator] = await Promise.all([
      run(['operator', 'manifest']),
      run(['operator', 'manifest', '--crds-only']),
      run(['operator', 'manifest', '--without-crds']),
    ]);
    expect(kindsIn(all.out)).toEqual([...kindsIn(crds.out), ...kindsIn(operator.out)]);
    expect(kindsIn(crds.out)).toEqual(['Namespace', ...Array(3).fill('CustomResourceDefinition')]);
    expect(kindsIn(operator.out)).toContain('Deployment');
    expect([all.code, crds.code, operator.code]).toEqual([0, 0, 0]);
    const rules = await run(['operator', 'manifest', '--crds-only', '--cel']);
    expect([rules.code, kindsIn(rules.out)]).toEqual([0, kindsIn(crds.out)]);
    expect([rules.out, crds.out].map((text) => text.includes('x-kubernetes-validations'))).toEqual([true, false]);
  });

  it('takes every option and prints JSON that kubectl takes too', async () => {
    const args =
      'operator manifest --without-crds --cluster prod-eu --base-url https://control.example.com --image example.com/o:9 ' +
      '--replicas 1 --namespace-grants shop,blog --allow-upgrade --pod-disruption-budget v1beta1 --output json';
    const { code, out } = await run(args.split(' '));
    const { apiVersion, kind, items } = JSON.parse(out) as KubeObject & { readonly items: readonly KubeObject[] };
    expect({ code, apiVersion, kind }).toEqual({ code: 0, apiVersion: 'v1', kind: 'List' });
    const bindings = items.filter((item) => item.kind === 'RoleBinding').map(({ metadata }) => metadata.namespace);
    expect(bindings).toEqual(['service-system', 'shop', 'blog', 'service-system']);
    expect(items.find((item) => item.kind === 'PodDisruptionBudget')?.apiVersion).toBe('policy/v1beta1');
    expect(items.at(-1)).toMatchObject({ kind: 'Cluster', metadata: { name: 'prod-eu' } });
  });

  it('asks the cluster which PodDisruptionBudget it serves, and says how to go on when it does not answer', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'servicectl-'));
    const kubeconfig = join(folder, 'kubeconfig');
    try {
      const sandbox = await startSandbox();
      writeFileSync(kubeconfig, sandbox.kubeconfig());
      const flags = ['operator', 'manifest', '--without-crds', '--output', 'json', '--pod-disruption-budget'];
      const served = await run(flags, { KUBECONFIG: kubeconfig });
      // As a server before 1.21 answers.
      sandbox.faults.add({
        match: ({ path }) => path === '/apis/policy/v1',
        respond: { status: 404, body: '{"kind":"Status","code":404,"reason":"NotFound","message":"not found"}' },
      });
      const old = await run(flags, { KUBECONFIG: kubeconfig });
      await sandbox[Symbol.asyncDispose]();
      const versionIn = (text: string): unknown => /"policy\/(\w+)"/.exec(text)?.[1];
      expect([versionIn(served.out), versionIn(old.out)]).toEqual(['v1', 'v1beta1']);
      const gone = await run([...flags, '--kubeconfig', join(folder, 'none')]);
      expect(gone).toMatchObject({ code: 1, out: '' });
      expect(gone.err).toMatch(/^servicectl: the cluster cannot be asked for its PodDisruptionBudget: .*none/);
      expect(gone.err).toContain('\nSay it: --pod-disruption-budget=v1, or =v1beta1 before Kubernetes 1.21\n');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('servicectl namespaces add', () => {
  it('prints label and RoleBinding as YAML, and the label command as a comment', async () => {
    const { code, out } = await run(['namespaces', 'add', 'shop', '--service-account', 'deployer']);
    expect(code).toBe(0);
    expect(kindsIn(out)).toEqual(['Namespace', 'RoleBinding']);
    expect(out).toContain('#   kubectl label namespace shop managed-by=service\n');
    expect(out).toContain('ops.service.io/service-account: "deployer"\n');
  });
});

describe('servicectl namespaces add-velero', () => {
  it('prints a role for backups and restores and its binding, where Velero runs', async () => {
    const { code, out } = await run(['namespaces', 'add-velero', '--velero-namespace', 'backup', '-o', 'json']);
    expect(code).toBe(0);
    const { items } = JSON.parse(out) as { readonly items: readonly KubeObject[] };
    const named = items.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
    expect(named).toEqual(['Role backup/service-operator-velero', 'RoleBinding backup/service-operator-velero']);
    expect(items[0]?.['rules']).toEqual([
      { apiGroups: ['velero.io'], resources: ['backups', 'restores'], verbs: ['create', 'get'] },
    ]);
    expect((await run(['namespaces', 'add-velero'])).out).toContain('namespace: "velero"\n');
  });
});

describe('a command line that cannot be used', () => {
  it.each<[string, string[], string]>([
    ['an unknown command', ['operator', 'manifst'], "unknown command 'manifst'\n(Did you mean manifest?)"],
    ['a number that is none', ['operator', 'manifest', '--replicas', 'two'], 'A whole number is expected.'],
    ['two that exclude each other', ['operator', 'manifest', '--crds-only', '--without-crds'], 'cannot be used with'],
    ['a slug without an address', ['operator', 'manifest', '--cluster', 'a'], '--cluster needs --base-url beside it'],
    ['an address without a slug', ['operator', 'manifest', '--base-url', 'https://a'], '--base-url needs --cluster'],
    ['a bad name', ['namespaces', 'add', 'Shop'], 'servicectl: NAMESPACE: a namespace ('],
    ["Kubernetes' namespace", ['namespaces', 'add', 'kube-system'], 'NAMESPACE: a namespace for applications (kube-…'],
    [
      'a bad place of Velero',
      ['namespaces', 'add-velero', '--velero-namespace', 'kube-system'],
      '--velero-namespace: ',
    ],
    ['a missing name', ['namespaces', 'add'], "missing required argument 'namespace'"],
    ['nothing', [], 'Usage: servicectl'],
  ])('ends with 2 and says why: %s', async (_, args, message) => {
    const { code, out, err } = await run(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });

  it('is not one that asks for help', async () => {
    const { code, out, err } = await run(['operator', 'manifest', '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('--namespace-grants <names>');
  });

  it('takes no token as an argument', async () => {
    const { code, err } = await run(['clusters', 'list', '--token', 'svcadm_x']);
    expect(code).toBe(2);
    expect(err).toContain("unknown option '--token'");
  });
});

describe('servicectl clusters', () => {
  const seen: string[] = [];
  let answer: { status: number; body: string } = { status: 200, body: '{}' };
  let server: Server;
  let folder: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    server = createServer((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    folder = mkdtempSync(join(tmpdir(), 'servicectl-'));
    writeFileSync(join(folder, 'token'), 'svcadm_secret\n');
    const { port } = server.address() as AddressInfo;
    env = { SERVICECTL_SERVER: `http://127.0.0.1:${port}/`, SERVICECTL_TOKEN_FILE: join(folder, 'token') };
  });

  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await new Promise((resolve) => server.close(resolve));
  });

  it('prints the steps of an installation as a script that hands the token over in a pipe', async () => {
    const crdsUrl = "https://control.example.com/it's/install/crds.yaml?cluster=c-1&signature=s";
    answer = {
      status: 201,
      body: JSON.stringify({
        slug: 'prod-eu',
        crdsUrl,
        operatorUrl: 'https://o',
        expiresAt: '2026-12-01T00:15:00.000Z',
      }),
    };
    seen.length = 0;
    const { code, out } = await run(['clusters', 'install-command', 'prod-eu'], env);
    expect(code).toBe(0);
    expect(seen).toEqual(['POST /api/v1/clusters/prod-eu/install-link Bearer svcadm_secret']);
    expect(out.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toEqual([
      "command -v servicectl >/dev/null || { echo 'servicectl is not a program that this shell finds in PATH' >&2; exit 1; }",
      String.raw`kubectl apply -f 'https://control.example.com/it'\''s/install/crds.yaml?cluster=c-1&signature=s'`,
      `servicectl clusters registration-token prod-eu | ${REGISTRATION_SECRET_COMMAND}`,
      "kubectl apply -f 'https://o'",
      'kubectl --namespace service-system wait --for=condition=Authenticated clusters.ops.service.io/prod-eu --timeout=180s',
    ]);
    expect(out).toContain('The links work until 2026-12-01T00:15:00.000Z.');
    expect(out).not.toContain('svc');
  });

  it('prints a registration token alone', async () => {
    answer = { status: 201, body: '{"registrationToken":"svcreg_x","registrationTokenExpiresAt":"…"}' };
    seen.length = 0;
    expect(await run(['clusters', 'registration-token', 'a/b'], env)).toEqual({ code: 0, out: 'svcreg_x\n', err: '' });
    expect(seen).toEqual(['POST /api/v1/clusters/a%2Fb/registration-token Bearer svcadm_secret']);
  });

  it('lists every page of clusters', async () => {
    const connected = { type: 'Connected', status: 'True' };
    const at = '2026-12-01T00:15:00.000Z';
    const shared = { id: 'c-1', status: 'Active', connectivityMode: 'gitops' };
    const items = [
      { ...shared, slug: 'prod-europe', conditions: [connected], lastContactAt: at, other: 1 },
      { ...shared, slug: 'eu', status: 'Pending', connectivityMode: 'pull', conditions: [] },
    ];
    answer = { status: 200, body: JSON.stringify({ items }) };
    expect((await run(['clusters', 'list'], env)).out).toBe(
      'SLUG          STATUS    MODE     HEALTH   APPS   CONNECTED   LAST CONTACT\n' +
        `prod-europe   Active    gitops   -        -      True        ${at}\n` +
        'eu            Pending   pull     -        -      Unknown     -\n',
    );
    expect((await run(['clusters', 'list', '-o', 'name'], env)).out).toBe('prod-europe\neu\n');
    expect(JSON.parse((await run(['clusters', 'list', '-o', 'json'], env)).out)).toEqual({ items });
    answer = { status: 200, body: '{"items":[]}' };
    expect((await run(['clusters', 'list'], env)).out).toMatch(/^SLUG .*\n$/);
  });

  it.each<[number, string, string]>([
    [
      404,
      '{"error":"not_found","message":"there is no cluster x","requestId":"req-1"}',
      'servicectl: there is no cluster x (not_found, request req-1)\nSee which clusters there are: servicectl clusters list\n',
    ],
    [
      401,
      '{"error":"invalid_token","message":"this is not an admin token of this control plane","requestId":"req-2"}',
      'servicectl: this is not an admin token of this control plane (invalid_token, request req-2)\nPut an admin token of this control plane into ',
    ],
    [
      200,
      '<html>',
      'answers something that is not of a control plane\nSee whether it is there: curl http://127.0.0.1:',
    ],
  ])('says what to do next after %s %s', async (status, body, message) => {
    answer = { status, body };
    const { code, out, err } = await run(['clusters', 'install-command', 'x'], env);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(message);
    expect(err).not.toContain('svcadm_');
  });

  it('says that nobody answers', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const { code, err } = await run(['clusters', 'list', '--server', `http://127.0.0.1:${port}`], env);
    expect(code).toBe(1);
    expect(err).toContain(`servicectl: http://127.0.0.1:${port} does not answer (ECONNREFUSED)\n`);
  });

  it.each<[string, Record<string, string>, string]>([
    ['no address', { SERVICECTL_SERVER: '' }, 'the address of the control plane is not known'],
    ['another scheme', { SERVICECTL_SERVER: 'ftp://x' }, 'is not http:// or https://: ftp://x'],
    ['no token file', { SERVICECTL_TOKEN_FILE: '' }, 'there is no admin token'],
    [
      'a file that is not there',
      { SERVICECTL_TOKEN_FILE: '/nonexistent/token' },
      '/nonexistent/token cannot be read (ENOENT)',
    ],
    ['a file that holds none', { SERVICECTL_TOKEN_FILE: import.meta.filename }, 'does not hold an admin token'],
  ])('asks for %s', async (_, change, message) => {
    const { code, err } = await run(['clusters', 'list'], { ...env, ...change });
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
