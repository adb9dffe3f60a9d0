import { X509Certificate } from 'node:crypto';
import { Type, type Static } from 'typebox';
import { newId } from '../../protocol/ids.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Secret } from '../../runtime/secret.ts';
import type { MasterKey } from '../master-key.ts';
import type { PushCredentialRow } from '../store/mode-rows.ts';
import { pushCredentialContext, type NewPushCredential } from '../store/push-credentials.ts';
import type { PushCredentialInfo } from './push-credential-info.ts';
import { readTokenClaims } from './token-claims.ts';

/** A way to one API server, whole: nothing in it points to a file or a program. */
export interface PushAccess {
  readonly server: string;
  /** The kubeconfig's name of its user. */
  readonly userName: string;
  /** PEM. */
  readonly ca?: string;
  readonly tlsServerName?: string;
  /** May hold a password. */
  readonly proxyUrl?: Secret;
  readonly token?: Secret;
  readonly clientCertificate?: { readonly certificate: string; readonly key: Secret };
}

/** `push_credentials.credential_sealed`, opened. */
const Stored = Type.Object(
  {
    server: Type.String(),
    userName: Type.String(),
    ca: Type.Optional(Type.String()),
    tlsServerName: Type.Optional(Type.String()),
    proxyUrl: Type.Optional(Type.String()),
    token: Type.Optional(Type.String()),
    certificate: Type.Optional(Type.String()),
    key: Type.Optional(Type.String()),
    /** A token that was asked for and has not worked yet. */
    next: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);
type Stored = Static<typeof Stored>;
const parseStored = compileParser(Stored);

/** What is sealed: what is used, and beside it the token that takes its place once it has worked. */
export interface OpenedAccess {
  readonly access: PushAccess;
  readonly next?: Secret;
}

export async function sealAccess(
  masterKey: Pick<MasterKey, 'seal'>,
  id: string,
  { access, next }: OpenedAccess,
): Promise<string> {
  const { server, userName, ca, tlsServerName, proxyUrl, token, clientCertificate } = access;
  const stored: Stored = {
    server,
    userName,
    ...(ca === undefined ? {} : { ca }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(proxyUrl === undefined ? {} : { proxyUrl: proxyUrl.expose() }),
    ...(token === undefined ? {} : { token: token.expose() }),
    ...(clientCertificate === undefined
      ? {}
      : { certificate: clientCertificate.certificate, key: clientCertificate.key.expose() }),
    ...(next === undefined ? {} : { next: next.expose() }),
  };
  return await masterKey.seal(JSON.stringify(stored), pushCredentialContext(id));
}

/** @throws Error where it was revoked, the master key is another, or the row was altered */
export async function openAccess(
  masterKey: Pick<MasterKey, 'open'>,
  row: Pick<PushCredentialRow, 'id' | 'credential_sealed' | 'revoked_reason'>,
): Promise<OpenedAccess> {
  if (row.credential_sealed === null) {
    throw new Error(`the push credential ${row.id} was revoked: ${row.revoked_reason ?? 'no reason is on record'}`);
  }
  const opened = await masterKey.open(row.credential_sealed, pushCredentialContext(row.id));
  const { server, userName, ca, tlsServerName, proxyUrl, token, certificate, key, next } = parseStored(
    JSON.parse(opened.expose()),
  );
  const access: PushAccess = {
    server,
    userName,
    ...(ca === undefined ? {} : { ca }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(proxyUrl === undefined ? {} : { proxyUrl: new Secret(proxyUrl) }),
    ...(token === undefined ? {} : { token: new Secret(token) }),
    ...(certificate === undefined || key === undefined
      ? {}
      : { clientCertificate: { certificate, key: new Secret(key) } }),
  };
  return { access, ...(next === undefined ? {} : { next: new Secret(next) }) };
}

/** The access as a kubeconfig (JSON is YAML) that holds everything inline. */
export function kubeconfigOf(access: PushAccess): string {
  const { server, ca, tlsServerName, proxyUrl, token, clientCertificate } = access;
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const cluster = {
    server,
    ...(ca === undefined ? {} : { 'certificate-authority-data': base64(ca) }),
    ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
    ...(proxyUrl === undefined ? {} : { 'proxy-url': proxyUrl.expose() }),
  };
  const user = {
    ...(token === undefined ? {} : { token: token.expose() }),
    ...(clientCertificate === undefined
      ? {}
      : {
          'client-certificate-data': base64(clientCertificate.certificate),
          'client-key-data': base64(clientCertificate.key.expose()),
        }),
  };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'push',
    clusters: [{ name: 'push', cluster }],
    users: [{ name: 'push', user }],
    contexts: [{ name: 'push', context: { cluster: 'push', user: 'push' } }],
  });
}

/** What the access says of itself, and when it ends; of a token and a certificate the earlier one. */
export function describeAccess(access: PushAccess): {
  readonly info: PushCredentialInfo;
  readonly expiresAt: string | null;
} {
  const { token, clientCertificate, proxyUrl, userName } = access;
  const claims = token === undefined ? {} : readTokenClaims(token);
  const certificate = clientCertificate === undefined ? undefined : new X509Certificate(clientCertificate.certificate);
  const commonName = certificate === undefined ? undefined : /^CN=(.+)$/m.exec(certificate.subject)?.[1];
  const ends = [claims.expiresAt, certificate?.validToDate.toISOString()].filter((at) => at !== undefined);
  const issuedAt = claims.issuedAt ?? (token === undefined ? certificate?.validFromDate.toISOString() : undefined);
  const { account } = claims;
  return {
    info: {
      user:
        account === undefined
          ? (claims.subject ?? commonName ?? userName)
          : `system:serviceaccount:${account.namespace}:${account.name}`,
      proof: [
        ...(token === undefined ? [] : (['token'] as const)),
        ...(clientCertificate === undefined ? [] : (['client-certificate'] as const)),
      ],
      ...(account === undefined ? {} : { account }),
      ownCa: access.ca !== undefined,
      ...(proxyUrl === undefined ? {} : { proxy: new URL(proxyUrl.expose()).origin }),
      ...(issuedAt === undefined ? {} : { issuedAt }),
    },
    expiresAt: ends.toSorted()[0] ?? null,
  };
}

/** A sealed row of an access that somebody gave; whether it can be renewed shows when it is first looked at. */
export async function newPushCredential(
  deps: {
    readonly masterKey: Pick<MasterKey, 'seal'>;
    readonly clock: Clock;
    readonly randomBytes: (n: number) => Uint8Array;
  },
  given: { readonly clusterId: string; readonly access: PushAccess; readonly createdBy: string },
): Promise<NewPushCredential> {
  const now = deps.clock.now();
  const id = newId('pushcred', now, deps.randomBytes);
  const { info, expiresAt } = describeAccess(given.access);
  return {
    id,
    cluster_id: given.clusterId,
    server: given.access.server,
    info: JSON.stringify(info),
    credential_sealed: await sealAccess(deps.masterKey, id, { access: given.access }),
    created_by: given.createdBy,
    created_at: now.toISOString(),
    expires_at: expiresAt,
    // A token may be renewable; the first turn of the renewal finds out.
    renew_at: info.account === undefined || expiresAt === null ? null : now.toISOString(),
  };
}
