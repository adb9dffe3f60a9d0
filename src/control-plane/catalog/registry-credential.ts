import { Type, type Static } from 'typebox';
import type { ChartSource } from '../../protocol/chart.ts';
import { compileParser } from '../../protocol/parse.ts';
import { Secret } from '../../runtime/secret.ts';
import type { MasterKey } from '../master-key.ts';
import { chartSourceText } from '../store/catalog-entries.ts';

/** Tokens of cloud registries have some kilobytes. */
const MAX_PASSWORD = 16_384;

/** With which an entry's versions are read. RFC 7617: a user name has no colon, neither has control characters. */
export const RegistryCredential = Type.Object(
  {
    username: Type.String({
      pattern: '^[^:\\u0000-\\u001f\\u007f]+$',
      maxLength: 256,
      description: "a user name without ':'",
    }),
    password: Type.String({
      pattern: '^[^\\u0000-\\u001f\\u007f]+$',
      maxLength: MAX_PASSWORD,
      description: 'a password or a token, in one line',
    }),
  },
  { additionalProperties: false },
);
export type RegistryCredential = Static<typeof RegistryCredential>;

const parseCredential = compileParser(RegistryCredential);

/** Whose credential it is, and for which chart: it does not open for another one. */
export interface CredentialOwner {
  readonly organizationId: string;
  readonly entry: string;
  readonly chart: ChartSource;
}

export async function sealCredential(
  masterKey: Pick<MasterKey, 'seal'>,
  owner: CredentialOwner,
  credential: RegistryCredential,
): Promise<string> {
  return await masterKey.seal(JSON.stringify(credential), contextOf(owner));
}

/**
 * The value of `Authorization: Basic`.
 *
 * @throws Error where the master key is another or the row was altered
 */
export async function openBasic(
  masterKey: Pick<MasterKey, 'open'>,
  owner: CredentialOwner,
  sealed: string,
): Promise<Secret> {
  const { username, password } = parseCredential(JSON.parse((await masterKey.open(sealed, contextOf(owner))).expose()));
  return new Secret(`Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`);
}

function contextOf({ organizationId, entry, chart }: CredentialOwner): string {
  return `catalog-credential/${organizationId}/${entry}/${chartSourceText(chart)}`;
}
