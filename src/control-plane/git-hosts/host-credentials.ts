import { Type, type Static } from 'typebox';
import { Timestamp } from '../../protocol/condition.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { MasterKey } from '../master-key.ts';
import type { RepositoryRow } from '../store/schema.ts';

const SecretText = (maxLength: number) => Type.String({ minLength: 1, maxLength });
/** PEM of an OpenSSH or PKCS key. The longest RSA keys in use have 16 KiB. */
const PemKey = Type.String({
  pattern: '^\\s*-----BEGIN [A-Z ]*PRIVATE KEY-----',
  maxLength: 32_768,
  description: 'a private key as PEM, without a passphrase',
});

/** A personal, project or deploy token, over HTTPS. `expiresAt` is asked of the host where it tells. */
export const TokenCredential = Type.Object(
  {
    kind: Type.Literal('token'),
    username: Type.Optional(
      Type.String({ pattern: '^[^:\\s\\u0000-\\u001f]+$', maxLength: 128, description: "a name without ':'" }),
    ),
    token: Type.String({
      pattern: '^[\\x21-\\x7e]+$',
      minLength: 8,
      maxLength: 4096,
      description: 'a token: visible ASCII characters',
    }),
    expiresAt: Type.Optional(Timestamp),
  },
  { additionalProperties: false },
);
export type TokenCredential = Static<typeof TokenCredential>;

/** A GitHub App: its key signs for tokens of an hour, narrowed to one repository. */
export const GithubAppCredential = Type.Object(
  {
    kind: Type.Literal('github-app'),
    /** App id or client id. */
    appId: Type.String({ pattern: '^[A-Za-z0-9.]{1,64}$', description: 'the id or client id of the App' }),
    installationId: Type.String({ pattern: '^[0-9]{1,20}$', description: 'the number of the installation' }),
    privateKey: PemKey,
  },
  { additionalProperties: false },
);
export type GithubAppCredential = Static<typeof GithubAppCredential>;

/** A deploy key, over SSH. */
export const SshKeyCredential = Type.Object(
  {
    kind: Type.Literal('ssh'),
    privateKey: PemKey,
    /** Lines of `known_hosts`: the host's keys, of which one must be its. */
    knownHosts: SecretText(32_768),
  },
  { additionalProperties: false },
);
export type SshKeyCredential = Static<typeof SshKeyCredential>;

export const WriteCredential = Type.Union([TokenCredential, GithubAppCredential, SshKeyCredential]);
export type WriteCredential = Static<typeof WriteCredential>;

/** What the operators read with. */
export const ReadCredential = Type.Union([TokenCredential, SshKeyCredential]);
export type ReadCredential = Static<typeof ReadCredential>;

/** For the host's API where the write credential is a deploy key, which no API takes. */
export const ApiCredential = TokenCredential;

/** `repositories.credentials_sealed`, opened. */
export const StoredCredentials = Type.Object({
  write: WriteCredential,
  read: Type.Optional(ReadCredential),
  api: Type.Optional(ApiCredential),
  /** The address of the way out, which may hold a user name and a password. */
  proxyUrl: Type.Optional(Type.String()),
  /** With it the host signs its webhooks. */
  webhookSecret: Type.String(),
});
export type StoredCredentials = Static<typeof StoredCredentials>;

/** `repositories.host_settings`: nothing secret. */
export const HostSettings = Type.Object({
  /** Where it is not the one that follows from the repository's address. */
  apiUrl: Type.Optional(Type.String()),
  /** PEM roots of the host's certificate; absent: the system's. */
  caCertificate: Type.Optional(Type.String()),
});
export type HostSettings = Static<typeof HostSettings>;

const parseCredentials = compileParser(StoredCredentials);
const parseSettings = compileParser(HostSettings);

export async function sealCredentials(
  masterKey: Pick<MasterKey, 'seal'>,
  repositoryId: string,
  credentials: StoredCredentials,
): Promise<string> {
  return await masterKey.seal(JSON.stringify(credentials), contextOf(repositoryId));
}

/** @throws Error where the master key is another, the row was altered, or it is a repository of the embedded host */
export async function openCredentials(
  masterKey: Pick<MasterKey, 'open'>,
  row: Pick<RepositoryRow, 'id' | 'name' | 'credentials_sealed'>,
): Promise<StoredCredentials> {
  if (row.credentials_sealed === null) throw new Error(`the repository ${row.name} has no credentials`);
  const opened = await masterKey.open(row.credentials_sealed, contextOf(row.id));
  return parseCredentials(JSON.parse(opened.expose()));
}

export function hostSettingsOf(row: Pick<RepositoryRow, 'host_settings'>): HostSettings {
  return row.host_settings === null ? {} : parseSettings(JSON.parse(row.host_settings));
}

/** A value that is copied to another repository's row does not open there. */
function contextOf(repositoryId: string): string {
  return `repository-credentials/${repositoryId}`;
}
