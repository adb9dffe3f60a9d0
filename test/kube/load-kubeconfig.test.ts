import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeError } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { loadKubeconfig, type KubeconfigSource } from '../../src/kube/load-kubeconfig.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { json, kubeconfigOf, startStubServer, type StubServer } from './stub-server.ts';

let folder: string;
let server: StubServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  server = await startStubServer();
});

afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function refusal(source: KubeconfigSource): Pick<KubeError, 'status' | 'reason' | 'message'> {
  try {
    loadKubeconfig(source);
  } catch (error) {
    const { status, reason, message } = error as KubeError;
    return { status, reason, message };
  }
  throw new Error('it was accepted');
}

const text = (yaml: string): KubeconfigSource => ({ kind: 'text', yaml });

describe('a kubeconfig', () => {
  it.each(['exec', 'auth-provider', 'client-certificate', 'client-key', 'token-file', 'tokenFile'])(
    'given as text may not have %s',
    (key) => {
      const { reason, message } = refusal(text(kubeconfigOf('https://10.0.0.1', { [key]: '/etc/passwd' })));
      expect(reason).toBe('KubeconfigInvalid');
      expect(message).toContain(`the kubeconfig given as text: "u" has ${key}, which reaches out of the text`);
    },
  );

  it.each([
    ['http://10.0.0.1', 'server http://10.0.0.1 must be https (plain http is for loopback addresses only)'],
    ['nonsense', 'server "nonsense" is not a URL'],
    ['file:///etc/passwd', 'server null must be https (plain http is for loopback addresses only)'],
  ])('with the server %s is refused', (address, message) => {
    expect(refusal(text(kubeconfigOf(address, { token: 't' })))).toEqual({
      status: 0,
      reason: 'KubeconfigInvalid',
      message: `the kubeconfig given as text: ${message}`,
    });
  });

  it.each([
    ['- a', 'is not a map'],
    ['{', 'is not YAML'],
    ['a: b', 'names no cluster and user in its current-context "undefined"'],
    [`x: ${'y'.repeat(1024 * 1024)}`, 'is larger than 1048576 characters'],
  ])('is refused in words: %.10s', (yaml, message) => {
    expect(refusal(text(yaml)).message).toBe(`the kubeconfig given as text ${message}`);
  });

  it('is never quoted, not even when it cannot be parsed', () => {
    expect(JSON.stringify(refusal(text('users: [{token: "s3cret"}')))).not.toContain('s3cret');
  });

  it('that is not there is named', () => {
    const path = join(folder, 'nope');
    expect(refusal({ kind: 'file', path }).message).toBe(
      `kubeconfig ${path} cannot be read: ENOENT: no such file or directory, open '${path}'`,
    );
  });

  it('of a pod outside of a cluster says so', () => {
    expect(refusal({ kind: 'in-cluster' }).message).toContain('this program does not run in a cluster');
  });
});

describe('a credential', () => {
  const ref = { apiVersion: 'v1', kind: 'Namespace', name: 'shop' } as const;
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
  const only = (token: string): void =>
    server.handle((request, response) =>
      request.headers.authorization === `Bearer ${token}`
        ? json(200, namespace)(request, response)
        : json(401, { kind: 'Status', code: 401, reason: 'Unauthorized', message: 'Unauthorized' })(request, response),
    );

  it('that rotated in its file is taken at the first refusal, within the same call', async () => {
    const path = join(folder, 'config');
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'one\n');
    // Relative to the kubeconfig, as kubectl reads it.
    await writeFile(path, kubeconfigOf(server.url, { tokenFile: 'token' }));
    const kubeconfig = { kind: 'file', path } as const;
    await using api = connectCluster({ kubeconfig, userAgent: 't', clock: new ManualClock(), random: () => 0 });
    only('one');
    expect(await api.get(ref)).toEqual(namespace);
    await writeFile(tokenFile, 'two\n');
    only('two');
    expect(await api.get(ref)).toEqual(namespace);
    expect(server.received.map(({ authorization }) => authorization)).toEqual([
      'Bearer one',
      'Bearer one',
      'Bearer two',
    ]);
  });

  it('comes from a program that a kubeconfig file names, and is asked for again when refused', async () => {
    const path = join(folder, 'config');
    const state = join(folder, 'state');
    await writeFile(state, 'one');
    const status = '{"kind":"ExecCredential","status":{"token":"\'$(cat "$0")\'"}}';
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'sh',
      args: ['-c', `echo '${status}'`, state],
    };
    await writeFile(path, kubeconfigOf(server.url, { exec }));
    const kubeconfig = { kind: 'file', path } as const;
    await using api = connectCluster({ kubeconfig, userAgent: 't', clock: new ManualClock(), random: () => 0 });
    only('one');
    expect(await api.get(ref)).toEqual(namespace);
    await writeFile(state, 'two');
    only('two');
    expect(await api.get(ref)).toEqual(namespace);
  });

  it('whose program fails is an error that says which server it was for', async () => {
    const path = join(folder, 'config');
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'sh',
      args: ['-c', 'echo no login >&2; exit 3'],
    };
    await writeFile(path, kubeconfigOf(server.url, { exec }));
    const kubeconfig = { kind: 'file', path } as const;
    await using api = connectCluster({ kubeconfig, userAgent: 't', clock: new ManualClock(), random: () => 0 });
    await expect(api.get(ref)).rejects.toMatchObject({
      status: 0,
      reason: 'KubeconfigInvalid',
      message: `the credential for ${server.url} cannot be read: no login`,
    });
  });
});
