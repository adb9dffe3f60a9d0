import type { Kysely } from 'kysely';
import type { SigningKeyEndorsement } from '../../protocol/agent-config.ts';
import { PublicJwk } from '../../protocol/register.ts';
import { compileParser } from '../../protocol/parse.ts';
import { generateSigningKey } from '../../protocol/signing-key.ts';
import type { MasterKey } from '../master-key.ts';
import type { Database, SigningKeyRow } from './schema.ts';

const parsePublicJwk = compileParser(PublicJwk);

/** What binds a sealed signing key to its cluster: copied to another row it does not open. */
export function signingKeyContext(clusterId: string): string {
  return `signing-key/${clusterId}`;
}

/** Most keys that a cluster may have that are not revoked: what a JWKS of `/config` holds. */
export const MAX_SIGNING_KEYS = 16;

/** The cluster's signing keys that are not revoked: the one that signs first, then those that still verify. */
export async function findSigningKeys(db: Kysely<Database>, clusterId: string): Promise<SigningKeyRow[]> {
  const rows = await everySigningKey(db, clusterId);
  return rows.filter(({ revoked_at: revokedAt }) => revokedAt === null);
}

/** The revoked ones too, which are kept for what they endorsed. */
export async function everySigningKey(db: Kysely<Database>, clusterId: string): Promise<SigningKeyRow[]> {
  return await db
    .selectFrom('signing_keys')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .orderBy((eb) => eb.case().when('retired_at', 'is', null).then(0).else(1).end())
    .orderBy('retired_at', 'desc')
    .orderBy('created_at', 'desc')
    .orderBy('kid')
    .execute();
}

/**
 * What each key's predecessor signed, the newest first, so that an operator that pinned an earlier key can follow: also
 * of keys that are revoked, as those after them hang on them.
 */
export async function findSigningKeyEndorsements(
  db: Kysely<Database>,
  clusterId: string,
): Promise<SigningKeyEndorsement[]> {
  const rows = await everySigningKey(db, clusterId);
  return rows
    .flatMap(({ kid, predecessor, endorsement }) =>
      predecessor === null || endorsement === null ? [] : [{ kid, predecessor, jws: endorsement }],
    )
    .slice(0, MAX_SIGNING_KEYS);
}

export function publicJwkOf(row: Pick<SigningKeyRow, 'public_jwk'>): PublicJwk {
  return parsePublicJwk(JSON.parse(row.public_jwk));
}

/** A key for a cluster that has none yet, made and sealed outside of any transaction. */
export async function newSigningKey(
  masterKey: Pick<MasterKey, 'seal'>,
  clusterId: string,
  at: string,
): Promise<SigningKeyRow> {
  const key = generateSigningKey();
  return {
    kid: key.kid,
    cluster_id: clusterId,
    private_key_sealed: await masterKey.seal(key.privateJwk.expose(), signingKeyContext(clusterId)),
    public_jwk: JSON.stringify(key.publicJwk),
    created_at: at,
    predecessor: null,
    endorsement: null,
    retired_at: null,
    revoked_at: null,
  };
}

/** Stores `candidate` unless the cluster has a key by now; answers the keys it then has. */
export async function keepFirstSigningKey(
  trx: Kysely<Database>,
  candidate: SigningKeyRow | undefined,
  clusterId: string,
): Promise<SigningKeyRow[]> {
  const existing = await findSigningKeys(trx, clusterId);
  if (existing.length > 0 || candidate === undefined) return existing;
  await trx.insertInto('signing_keys').values(candidate).execute();
  return [candidate];
}

/** `successor` signs from now on. The private half of the one before it goes: nothing is signed with it again. */
export async function replaceSigningKey(trx: Kysely<Database>, kid: string, successor: SigningKeyRow): Promise<void> {
  await trx
    .updateTable('signing_keys')
    .set({ retired_at: successor.created_at, private_key_sealed: '' })
    .where('kid', '=', kid)
    .execute();
  await trx.insertInto('signing_keys').values(successor).execute();
}

/** The row stays, for what the key endorsed. */
export async function revokeSigningKeyRow(
  trx: Kysely<Database>,
  key: { readonly clusterId: string; readonly kid: string; readonly at: string },
): Promise<'revoked' | 'was revoked' | 'unknown'> {
  const row = await trx
    .selectFrom('signing_keys')
    .select('revoked_at')
    .where('cluster_id', '=', key.clusterId)
    .where('kid', '=', key.kid)
    .executeTakeFirst();
  if (row === undefined) return 'unknown';
  if (row.revoked_at !== null) return 'was revoked';
  await trx.updateTable('signing_keys').set({ revoked_at: key.at }).where('kid', '=', key.kid).execute();
  return 'revoked';
}
