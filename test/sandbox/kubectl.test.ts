import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startSandbox, type Sandbox } from '../../src/sandbox/start-sandbox.ts';
import { widgetDefinition } from '../support/cluster-contract/contract-context.ts';
import type { Json } from '../support/cluster-contract/kube-http.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const missing = spawnSync('kubectl', ['version', '--client']).error !== undefined;
if (missing) process.stderr.write('kubectl.test.ts is skipped: there is no kubectl on the PATH\n');

const widget = {
  apiVersion: 'contract.example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'shop' },
  spec: { size: 1, color: 'red' },
};

describe.skipIf(missing)('kubectl against the sandbox', { timeout: 60_000 }, () => {
  let sandbox: Sandbox;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sandbox-kubectl-'));
    sandbox = await startSandbox();
    await writeFile(join(folder, 'kubeconfig'), sandbox.kubeconfig(), { mode: 0o600 });
    await kubectl('create', 'namespace', 'shop');
    await kubectl('apply', '-f', await file('definition.json', widgetDefinition));
    await kubectl('wait', '--for=condition=Established', 'crd/widgets.contract.example.com');
  });

  afterAll(async () => {
    await sandbox[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  function environment(): NodeJS.ProcessEnv {
    // Its discovery cache lives in the home folder.
    return { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: join(folder, 'kubeconfig') };
  }

  async function kubectl(...args: readonly string[]): Promise<Run> {
    return new Promise((resolve) => {
      execFile('kubectl', args, { env: environment(), timeout: 30_000 }, (error, out, err) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, out, err });
      });
    });
  }

  async function file(name: string, ...objects: readonly unknown[]): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    return path;
  }

  it('shows namespaces, plainly, wide, as YAML and as JSON', async () => {
    const plain = await kubectl('get', 'namespaces');
    expect(plain.out).toMatch(/^NAME +STATUS +AGE\ndefault +Active +\d+s\n/);
    expect((await kubectl('get', 'ns', 'shop', '-o', 'wide')).out).toMatch(/^NAME +STATUS +AGE\nshop +Active +\d+s\n$/);
    const yaml = parse((await kubectl('get', 'ns', 'shop', '-o', 'yaml')).out) as Json;
    expect(yaml).toMatchObject({ apiVersion: 'v1', kind: 'Namespace', status: { phase: 'Active' } });
    const json = JSON.parse((await kubectl('get', 'ns', '-o', 'json')).out) as Json;
    expect((json['items'] as Json[]).map((item) => item['metadata']['name'])).toContain('kube-system');
  });

  it('explains the fields of a custom resource, and holds manifests to them before they are sent', async () => {
    const { out } = await kubectl('explain', 'widget.spec.ports');
    expect(out).toMatch(/^KIND: +Widget\nVERSION: +contract.example.com\/v1\n/);
    expect(out).toMatch(/port\t<integer> -required-/);
    const wrong = await file('wrong.json', { ...widget, spec: { size: 'big', typo: 1 } });
    const { code, err } = await kubectl('apply', '-f', wrong);
    expect(code).toBe(1);
    expect(err).toContain('unknown field "typo" in com.example.contract.v1.Widget.spec');
    expect(err).toContain(
      'invalid type for com.example.contract.v1.Widget.spec.size: got "string", expected "integer"',
    );
    const sent = await kubectl('apply', '--validate=false', '-f', wrong);
    expect(sent.err).toContain(
      'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
    );
  });

  it('creates ConfigMaps, Secrets and service accounts', async () => {
    const runs = [
      await kubectl('create', 'configmap', 'made', '-n', 'shop', '--from-literal=a=1', '--from-literal=empty='),
      await kubectl('create', 'secret', 'generic', 'made', '-n', 'shop', '--from-literal=b=2'),
      await kubectl('create', 'serviceaccount', 'made', '-n', 'shop'),
    ];
    expect(runs.map((run) => run.out + run.err)).toEqual([
      'configmap/made created\n',
      'secret/made created\n',
      'serviceaccount/made created\n',
    ]);
    const config = JSON.parse((await kubectl('get', 'configmap', 'made', '-n', 'shop', '-o', 'json')).out) as Json;
    const secret = JSON.parse((await kubectl('get', 'secret', 'made', '-n', 'shop', '-o', 'json')).out) as Json;
    expect([config['data'], secret['data'], secret['type']]).toEqual([{ a: '1', empty: '' }, { b: 'Mg==' }, 'Opaque']);
  });

  it('creates a token of an account, of the length that is asked for', async () => {
    await kubectl('create', 'serviceaccount', 'writer', '-n', 'shop');
    const { code, out, err } = await kubectl('create', 'token', 'writer', '-n', 'shop', '--duration=2160h');
    expect([code, err]).toEqual([0, '']);
    const claims = JSON.parse(Buffer.from(out.split('.')[1] ?? '', 'base64url').toString()) as Json;
    expect(Number(claims['exp']) - Number(claims['iat'])).toBe(2160 * 3600);
    expect(claims['sub']).toBe('system:serviceaccount:shop:writer');
  });

  it('applies from the client: created, unchanged, configured, pruned of what is no longer sent', async () => {
    const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'client', namespace: 'shop' } };
    const first = await file(
      'client.json',
      { ...config, data: { a: '1', b: '2' } },
      { ...widget, metadata: { ...widget.metadata, name: 'client' } },
    );
    const lines = [
      (await kubectl('apply', '-f', first)).out,
      (await kubectl('apply', '-f', first)).out,
      (await kubectl('apply', '--validate=false', '-f', await file('client.json', { ...config, data: { a: '3' } })))
        .out,
    ];
    expect(lines).toEqual([
      'configmap/client created\nwidget.contract.example.com/client created\n',
      'configmap/client unchanged\nwidget.contract.example.com/client unchanged\n',
      'configmap/client configured\n',
    ]);
    const live = JSON.parse((await kubectl('get', 'cm', 'client', '-n', 'shop', '-o', 'json')).out) as Json;
    expect(live['data']).toEqual({ a: '3' });
  });

  it('applies on the server, and explains a conflict', async () => {
    const path = await file('server.json', widget);
    const applied = await kubectl('apply', '--server-side', '-f', path);
    expect(applied).toEqual({ code: 0, out: 'widget.contract.example.com/w serverside-applied\n', err: '' });
    await file('server.json', { ...widget, spec: { size: 2, color: 'red' } });
    const refused = await kubectl('apply', '--server-side', '--field-manager=other', '-f', path);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('Apply failed with 1 conflict: conflict with "kubectl": .spec.size');
    const forced = await kubectl('apply', '--server-side', '--field-manager=other', '--force-conflicts', '-f', path);
    expect(forced.code).toBe(0);
    const table = await kubectl('get', 'wd', '-n', 'shop', 'w');
    expect(table.out).toMatch(/^NAME +SIZE +READY +AGE\nw +2 +\d+s\n$/);
    expect((await kubectl('get', 'wd', '-n', 'shop', 'w', '-o', 'wide')).out).toMatch(/COLOR.*\nw +2 +red +\d+s\n$/);
  });

  it('annotates, labels and patches', async () => {
    await kubectl(
      'apply',
      '-f',
      await file('marked.json', { ...widget, metadata: { name: 'marked', namespace: 'shop' } }),
    );
    const runs = [
      await kubectl('annotate', 'widget', 'marked', '-n', 'shop', 'note=yes'),
      await kubectl('label', 'configmap,widget', '--all', '-n', 'shop', 'tier=front', '--overwrite'),
      await kubectl('patch', 'widget', 'marked', '-n', 'shop', '--type=merge', '-p', '{"spec":{"size":9}}'),
      await kubectl(
        'get',
        'wd',
        '-n',
        'shop',
        '-l',
        'tier=front',
        '--field-selector=metadata.name=marked',
        '-o',
        'name',
      ),
    ];
    expect(runs.map((run) => run.code)).toEqual([0, 0, 0, 0]);
    expect(runs[0]?.out).toMatch(/^widget\.contract\.example\.com\/marked annotated?\n$/);
    expect(runs[3]?.out).toBe('widget.contract.example.com/marked\n');
  });

  it('describes an object with its Events', async () => {
    await kubectl('apply', '-f', await file('told.json', { ...widget, metadata: { name: 'told', namespace: 'shop' } }));
    const live = JSON.parse((await kubectl('get', 'widget', 'told', '-n', 'shop', '-o', 'json')).out) as Json;
    const { uid, name, namespace } = live['metadata'] as Json;
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'told.1', namespace },
      involvedObject: { apiVersion: live['apiVersion'], kind: 'Widget', name, namespace, uid },
      reason: 'Painted',
      message: 'It is red now',
      type: 'Normal',
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
      source: { component: 'painter' },
    };
    await kubectl('create', '-f', await file('event.json', event));
    const { out } = await kubectl('describe', 'widget', 'told', '-n', 'shop');
    expect(out).toMatch(/^Name: +told\nNamespace: +shop\n/);
    expect(out).toMatch(/Normal +Painted +.* +painter +It is red now/);
    expect((await kubectl('describe', 'namespace', 'shop')).out).toContain('No LimitRange resource.');
    expect((await kubectl('get', 'events', '-n', 'shop')).out).toMatch(/widget\/told +It is red now/);
  });

  it('watches while objects change', async () => {
    const child = spawn(
      'kubectl',
      ['get', 'configmaps', '-n', 'shop', '-w', '-o', 'name', '--field-selector=metadata.name=watched'],
      {
        env: environment(),
      },
    );
    try {
      const seen = Promise.withResolvers<string>();
      // Whole lines: a write may arrive in pieces.
      createInterface({ input: child.stdout }).once('line', seen.resolve);
      child.once('error', seen.reject);
      await kubectl('create', 'configmap', 'watched', '-n', 'shop');
      expect(await seen.promise).toBe('configmap/watched');
    } finally {
      child.kill();
    }
  });

  it('deletes objects, waits for finalizers, and says what is not there', async () => {
    const held = { ...widget, metadata: { name: 'held', namespace: 'shop', finalizers: ['example.com/hold'] } };
    await kubectl('apply', '-f', await file('held.json', held));
    const deletion = kubectl('delete', 'widget', 'held', '-n', 'shop');
    await kubectl('wait', '--for=jsonpath={.metadata.deletionGracePeriodSeconds}=0', 'widget/held', '-n', 'shop');
    await kubectl(
      'patch',
      'widget',
      'held',
      '-n',
      'shop',
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/metadata/finalizers"}]',
    );
    expect(await deletion).toMatchObject({ code: 0, out: expect.stringContaining('"held" deleted') });
    expect(await kubectl('get', 'widget', 'held', '-n', 'shop')).toMatchObject({
      code: 1,
      err: 'Error from server (NotFound): widgets.contract.example.com "held" not found\n',
    });
  });

  it('deletes a namespace with all that is in it', async () => {
    await kubectl('create', 'namespace', 'brief');
    await kubectl('create', 'configmap', 'inside', '-n', 'brief');
    expect(await kubectl('delete', 'namespace', 'brief')).toMatchObject({
      code: 0,
      out: 'namespace "brief" deleted\n',
    });
    expect((await kubectl('get', 'configmap', '-n', 'brief', '-o', 'name')).out).toBe('');
  });
});
