import { Type, type Static } from 'typebox';
import { Timestamp } from '../../protocol/condition.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { RepositoryRow } from '../store/schema.ts';
import type { ReadCredential, StoredCredentials, WriteCredential } from './host-credentials.ts';

/** One credential as it is shown: everything but what is secret in it. */
export const CredentialInfo = Type.Object({
  kind: Type.Union([Type.Literal('token'), Type.Literal('github-app'), Type.Literal('ssh')]),
  username: Type.Optional(Type.String()),
  appId: Type.Optional(Type.String()),
  installationId: Type.Optional(Type.String()),
  setAt: Timestamp,
  /** As an admin said, or as the host tells; absent: it does not end, or nobody knows. */
  expiresAt: Type.Optional(Timestamp),
  /** Days before the end that were warned of last; 0: that it has ended. */
  warnedDays: Type.Optional(Type.Integer()),
});
export type CredentialInfo = Static<typeof CredentialInfo>;

/** `repositories.credential_info`. */
export const CredentialInfos = Type.Object({
  write: CredentialInfo,
  read: Type.Optional(CredentialInfo),
  api: Type.Optional(CredentialInfo),
  /** Scheme, host and port of the proxy. */
  proxy: Type.Optional(Type.String()),
});
export type CredentialInfos = Static<typeof CredentialInfos>;

export const CREDENTIAL_USES = ['write', 'read', 'api'] as const;
export type CredentialUse = (typeof CREDENTIAL_USES)[number];

const parseInfos = compileParser(CredentialInfos);

export function credentialInfosOf(row: Pick<RepositoryRow, 'credential_info'>): CredentialInfos | undefined {
  return row.credential_info === null ? undefined : parseInfos(JSON.parse(row.credential_info));
}

/** Of what is stored now; what is the same as before keeps when it was set. */
export function describeCredentials(
  now: StoredCredentials,
  before: { readonly stored: StoredCredentials; readonly infos: CredentialInfos } | undefined,
  at: string,
): CredentialInfos {
  const one = (use: CredentialUse): CredentialInfo | undefined => {
    const credential = now[use];
    if (credential === undefined) return undefined;
    const known = before?.infos[use];
    const isSame = JSON.stringify(credential) === JSON.stringify(before?.stored[use]);
    return isSame && known !== undefined ? known : describe(credential, at);
  };
  const [write, read, api] = [one('write'), one('read'), one('api')];
  return {
    write: write ?? describe(now.write, at),
    ...(read === undefined ? {} : { read }),
    ...(api === undefined ? {} : { api }),
    ...(now.proxyUrl === undefined ? {} : { proxy: new URL(now.proxyUrl).origin }),
  };
}

function describe(credential: WriteCredential | ReadCredential, setAt: string): CredentialInfo {
  if (credential.kind === 'ssh') return { kind: 'ssh', setAt };
  if (credential.kind === 'github-app') {
    const { appId, installationId } = credential;
    return { kind: 'github-app', appId, installationId, setAt };
  }
  const { username, expiresAt } = credential;
  return {
    kind: 'token',
    setAt,
    ...(username === undefined ? {} : { username }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}
