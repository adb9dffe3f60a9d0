import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { AppError } from '../../../src/protocol/app-error.ts';
import { describeAccess, kubeconfigOf } from '../../../src/control-plane/push/push-access.ts';
import { readKubeconfig } from '../../../src/control-plane/push/read-kubeconfig.ts';
import { loadKubeconfig } from '../../../src/kube/load-kubeconfig.ts';
import { createLoopbackCertificate } from '../../../src/sandbox/loopback-certificate.ts';

const NOW = new Date('2026-11-28T12:00:00Z');
const SECRET = 'a-token-that-nobody-may-see';
const PEM = createLoopbackCertificate();
const OTHER = createLoopbackCertificate();
const base64 = (text: string): string => Buffer.from(text).toString('base64');

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly document?: object;
  readonly context?: object;
}

function kubeconfig({ cluster, user, document, context }: Parts = {}): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'prod', cluster: { server: 'https://203.0.113.7:6443', ...cluster } }],
    users: [{ name: 'writer', user: { token: SECRET, ...user } }],
    contexts: [{ name: 'prod', context: { cluster: 'prod', user: 'writer', ...context } }],
    'current-context': 'prod',
    ...document,
  });
}

function read(text: string) {
  return readKubeconfig(text, { path: '/kubeconfig', now: NOW });
}

/** What is said of a kubeconfig that is not taken; never anything that was in it. */
function refusalOf(text: string): string {
  try {
    read(text);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect([error.code, error.faults.map(({ path }) => path)]).toEqual(['constraint_violated', ['/kubeconfig']]);
    expect(JSON.stringify([error.message, error.faults, error.extra])).not.toContain(SECRET);
    return error.message;
  }
  throw new Error('it was taken');
}

describe('a kubeconfig that is taken', () => {
  it('is a token, and the roots of its server', () => {
    const access = read(kubeconfig({ cluster: { 'certificate-authority-data': base64(PEM.cert) } }));
    expect({ ...access, token: access.token?.expose() }).toEqual({
      userName: 'writer',
      server: 'https://203.0.113.7:6443',
      ca: PEM.cert,
      token: SECRET,
    });
    expect(JSON.stringify(access)).not.toContain(SECRET);
  });

  it('is a client certificate with its key (mTLS), whose end is known', () => {
    const user = { token: '', 'client-certificate-data': base64(PEM.cert), 'client-key-data': base64(PEM.key) };
    const access = read(kubeconfig({ user }));
    expect(access.clientCertificate?.key.expose()).toBe(PEM.key);
    expect(describeAccess(access)).toMatchObject({
      info: { proof: ['client-certificate'], ownCa: false },
      expiresAt: expect.stringMatching(/^20\d\d-/),
    });
  });

  it('says the account and the times of its token', () => {
    const part = (content: object): string => Buffer.from(JSON.stringify(content)).toString('base64url');
    const claims = {
      sub: 'system:serviceaccount:service-system:service-control-plane',
      iat: 1795860000,
      exp: 1795870000,
    };
    const token = `${part({ alg: 'RS256' })}.${part(claims)}.${SECRET}`;
    expect(describeAccess(read(kubeconfig({ user: { token } })))).toEqual({
      info: {
        user: 'system:serviceaccount:service-system:service-control-plane',
        account: { namespace: 'service-system', name: 'service-control-plane' },
        proof: ['token'],
        ownCa: false,
        issuedAt: '2026-11-28T10:00:00.000Z',
      },
      expiresAt: '2026-11-28T12:46:40.000Z',
    });
    const ended = `${part({})}.${part({ ...claims, exp: 1795860001 })}.${SECRET}`;
    expect(refusalOf(kubeconfig({ user: { token: ended } }))).toContain('expired at 2026-11-28T10:00:01.000Z');
  });

  it('is read by the client as it was given, with nothing that reaches out of it', () => {
    const cluster = { 'tls-server-name': 'api.example.com', 'proxy-url': `http://me:${SECRET}@proxy.example.com:3128` };
    const access = read(kubeconfig({ cluster, document: { preferences: {}, extensions: [] } }));
    expect(describeAccess(access).info.proxy).toBe('http://proxy.example.com:3128');
    const loaded = loadKubeconfig({ kind: 'text', yaml: kubeconfigOf(access) });
    expect(loaded.getCurrentCluster()).toMatchObject({
      server: 'https://203.0.113.7:6443',
      skipTLSVerify: false,
      tlsServerName: 'api.example.com',
      proxyUrl: cluster['proxy-url'],
    });
    expect(loaded.getCurrentUser()?.token).toBe(SECRET);
  });

  it('may be plain HTTP on this machine alone', () => {
    expect(read(kubeconfig({ cluster: { server: 'http://127.0.0.1:8001/' } })).server).toBe('http://127.0.0.1:8001');
    expect(refusalOf(kubeconfig({ cluster: { server: 'http://10.0.0.7:8001' } }))).toContain(
      'clusters[0].cluster.server must begin with https://',
    );
  });
});

const REFUSED: readonly (readonly [what: string, parts: Parts, says: string])[] = [
  ['an exec plugin', { user: { exec: { command: SECRET } } }, 'users[0].user.exec runs a program on the control plane'],
  ['an auth provider', { user: { 'auth-provider': { name: 'gcp' } } }, 'users[0].user.auth-provider needs a plugin'],
  ['a token file', { user: { tokenFile: '/etc/passwd' } }, 'users[0].user.tokenFile is a path to a file'],
  ['a CA file', { cluster: { 'certificate-authority': '/ca' } }, 'clusters[0].cluster.certificate-authority is a path'],
  ['a certificate file', { user: { 'client-certificate': '/c' } }, 'users[0].user.client-certificate is a path'],
  ['a key file', { user: { 'client-key': '/c' } }, 'users[0].user.client-key is a path'],
  [
    'no look at the certificate',
    { cluster: { 'insecure-skip-tls-verify': true } },
    'clusters[0].cluster.insecure-skip-tls-verify lets anybody on the way read the credential',
  ],
  ['a password', { user: { username: 'me', password: SECRET } }, 'users[0].user.username is a password'],
  ['impersonation', { user: { as: 'admin' } }, 'users[0].user.as is impersonation'],
  ['groups of others', { user: { 'as-groups': ['a'] } }, 'users[0].user.as-groups is impersonation'],
  ['an entry that nobody knows', { user: { [SECRET]: 'x' } }, 'users[0].user: entry 2 is not known here'],
  ['a password in the address', { cluster: { server: `https://me:${SECRET}@h` } }, 'has a user name or password in it'],
  ['an address that is none', { cluster: { server: SECRET } }, 'clusters[0].cluster.server must be a URL'],
  ['a socks proxy', { cluster: { 'proxy-url': `socks5://me:${SECRET}@p` } }, 'must be an http:// or https:// proxy'],
  [
    'roots that are none',
    { cluster: { 'certificate-authority-data': base64(SECRET) } },
    'is not one or more certificates',
  ],
  ['roots that are not base64', { cluster: { 'certificate-authority-data': '%' } }, 'is not base64'],
  [
    'a certificate without its key',
    { user: { 'client-certificate-data': base64(PEM.cert) } },
    'users[0].user.client-key-data is absent',
  ],
  [
    'the key of another certificate',
    { user: { 'client-certificate-data': base64(PEM.cert), 'client-key-data': base64(OTHER.key) } },
    'is not the key of client-certificate-data',
  ],
  [
    'a key that is none',
    { user: { 'client-certificate-data': base64(PEM.cert), 'client-key-data': base64(SECRET) } },
    'is not a private key as PEM',
  ],
  ['no credential', { user: { token: null } }, 'users[0].user holds no credential'],
  ['a token of two lines', { user: { token: `${SECRET}\n${SECRET}` } }, 'is not one line of visible ASCII'],
  ['two contexts', { document: { contexts: [{}, {}] } }, 'contexts has 2 entries'],
  ['no cluster', { document: { clusters: [] } }, 'clusters has 0 entries'],
  ['users that are no list', { document: { users: SECRET } }, 'users has 0 entries'],
  ['another current context', { document: { 'current-context': SECRET } }, 'current-context does not name the context'],
  ['a context of another cluster', { context: { cluster: SECRET } }, 'context.cluster does not name the cluster'],
  ['a context of another user', { context: { user: SECRET } }, 'context.user does not name the user'],
  ['another kind', { document: { kind: 'Secret' } }, 'is not a kubeconfig'],
];

describe('a kubeconfig that is refused', () => {
  it.each(REFUSED)('is one with %s', (_what, parts, says) => {
    expect(refusalOf(kubeconfig(parts))).toContain(says);
  });

  it.each([
    ['no YAML', `token: "${SECRET}`],
    ['two documents', `a: 1\n---\ntoken: ${SECRET}`],
    ['the same key twice', `token: ${SECRET}\ntoken: b`],
    ['text', SECRET],
    ['a list', `[${SECRET}]`],
    ['a tag of a program', `!!js/function ${SECRET}`],
  ])('is %s', (_what, text) => {
    expect(refusalOf(text)).toMatch(/is not (one YAML document|a map)/);
  });

  it('is one that grows as it is read, or is nested without end, and is found to be so at once', () => {
    const bomb = [
      'a: &a [x, x, x]',
      ...'bcdefghij'.split('').map((name, index) => {
        const before = String.fromCharCode(name.charCodeAt(0) - 1);
        return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}] # ${index}`;
      }),
    ].join('\n');
    expect(refusalOf(bomb)).toContain('YAML aliases');
    const begun = performance.now();
    refusalOf('['.repeat(60_000));
    refusalOf('- '.repeat(30_000));
    refusalOf('{a: '.repeat(15_000));
    expect(refusalOf(`a: ${'x'.repeat(65_536)}`)).toContain('larger than 65536 bytes');
    expect(performance.now() - begun).toBeLessThan(3000);
  });
});
