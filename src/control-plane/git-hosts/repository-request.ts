import { createPrivateKey, X509Certificate } from 'node:crypto';
import { Type, type Static } from 'typebox';
import type { Fault } from '../../protocol/app-error.ts';
import { addressFaults } from './address-rules.ts';
import { ApiCredential, ReadCredential, WriteCredential } from './host-credentials.ts';

/** As `targetIsUnusable` of the operator takes it: nothing that Git or a configuration file could read otherwise. */
const Branch = Type.String({
  pattern: '^(?!-)(?!.*(?:\\.\\.|//|@\\{|\\.lock(?:/|$)))(?![./])[A-Za-z0-9._/-]{1,200}(?<![./])$',
  description: 'the name of a branch',
});

/** Body of `PUT /repositories/{name}`: the whole of a repository of another host. */
export const PutRepository = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 1024 }),
    branch: Type.Optional(Branch),
    layout: Type.Optional(Type.Union([Type.Literal('flat'), Type.Literal('sharded')])),
    host: Type.Union([Type.Literal('git'), Type.Literal('github'), Type.Literal('gitlab'), Type.Literal('gitea')]),
    apiUrl: Type.Optional(Type.String({ maxLength: 1024 })),
    caCertificate: Type.Optional(Type.String({ maxLength: 131_072 })),
    proxyUrl: Type.Optional(Type.String({ maxLength: 1024 })),
    write: WriteCredential,
    read: Type.Optional(ReadCredential),
    api: Type.Optional(ApiCredential),
  },
  { additionalProperties: false },
);
export type PutRepository = Static<typeof PutRepository>;

/** Body of `PUT /repositories/{name}/credentials`: those that are named are replaced; null takes one away. */
export const PutCredentials = Type.Object(
  {
    write: Type.Optional(WriteCredential),
    read: Type.Optional(Type.Union([ReadCredential, Type.Null()])),
    api: Type.Optional(Type.Union([ApiCredential, Type.Null()])),
    /** Makes a new one, shown in the answer. */
    webhookSecret: Type.Optional(Type.Literal('new')),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type PutCredentials = Static<typeof PutCredentials>;

type Uses = Pick<PutRepository, 'url' | 'host'> & Partial<Pick<PutRepository, 'write' | 'read' | 'api'>>;

/** All that a repository's own fields contradict each other in, beside their shapes. */
export function repositoryFaults(body: PutRepository, rules: { readonly allowPrivate: boolean }): Fault[] {
  const faults = [...addressFaults(body, rules), ...credentialFaults(body)];
  if (body.caCertificate !== undefined && !holdsCertificates(body.caCertificate)) {
    faults.push({ path: '/caCertificate', message: 'must be certificates as PEM' });
  }
  return faults;
}

/** Credentials that do not go with the address or the host, or that cannot be read. */
export function credentialFaults({ url, host, write, read, api }: Uses): Fault[] {
  const isSsh = !/^https?:\/\//i.test(url);
  const faults: Fault[] = [];
  for (const [path, credential] of [
    ['/write', write],
    ['/read', read],
  ] as const) {
    if (credential === undefined) continue;
    if (isSsh !== (credential.kind === 'ssh')) {
      const message = isSsh ? 'the address is over ssh, which takes a deploy key' : 'the address takes no deploy key';
      faults.push({ path: `${path}/kind`, message, allowed: isSsh ? ['ssh'] : ['token', 'github-app'] });
    }
    if (credential.kind === 'github-app' && host !== 'github') {
      faults.push({ path: `${path}/kind`, message: 'a GitHub App is for host github', allowed: ['token', 'ssh'] });
    }
    if (credential.kind === 'github-app' && !isRsaKey(credential.privateKey)) {
      faults.push({ path: `${path}/privateKey`, message: 'must be the RSA key that GitHub gave for the App, as PEM' });
    }
    if (credential.kind === 'ssh' && hasPassphrase(credential.privateKey)) {
      faults.push({ path: `${path}/privateKey`, message: 'must have no passphrase: nobody is there to type it' });
    }
    if (
      credential.kind === 'ssh' &&
      !/^\s*(?:@\S+\s+)?[^#\s]\S*\s+\S+\s+[A-Za-z0-9+/]{4}/m.test(credential.knownHosts)
    ) {
      const message = 'must be lines of known_hosts, as ssh-keyscan prints them: host, kind and key';
      faults.push({ path: `${path}/knownHosts`, message });
    }
  }
  if (api !== undefined && host === 'git') faults.push({ path: '/api', message: 'a plain Git host has no API' });
  return faults;
}

/** In OpenSSH's own format (PROTOCOL.key) the cipher's name stands behind the magic; `none` where there is no passphrase. */
function hasPassphrase(pem: string): boolean {
  if (/ENCRYPTED/.test(pem)) return true;
  const [, body] = /-----BEGIN OPENSSH PRIVATE KEY-----([\s\S]*?)-----END/.exec(pem) ?? [];
  if (body === undefined) return false;
  const bytes = Buffer.from(body, 'base64');
  const magic = 'openssh-key-v1\0';
  if (bytes.toString('latin1', 0, magic.length) !== magic || bytes.length < magic.length + 4) return false;
  const length = bytes.readUInt32BE(magic.length);
  return bytes.toString('latin1', magic.length + 4, magic.length + 4 + length) !== 'none';
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}

function holdsCertificates(pem: string): boolean {
  const parts = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  try {
    return parts.length > 0 && parts.every((part) => new X509Certificate(part).subject !== undefined);
  } catch {
    return false;
  }
}
