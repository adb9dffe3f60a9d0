import type { Kysely } from 'kysely';
import type { CertificateAuthorityRow, Database } from './schema.ts';

/** Those that have not expired, the newest first. */
export async function findCertificateAuthorities(db: Kysely<Database>, at: string): Promise<CertificateAuthorityRow[]> {
  return await db
    .selectFrom('certificate_authorities')
    .selectAll()
    .where('expires_at', '>', at)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

/** Stores `candidate` unless there is one of its id by now; answers the one that is there then. */
export async function keepCertificateAuthority(
  trx: Kysely<Database>,
  candidate: CertificateAuthorityRow,
): Promise<CertificateAuthorityRow> {
  await trx
    .insertInto('certificate_authorities')
    .values(candidate)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
  return await trx
    .selectFrom('certificate_authorities')
    .selectAll()
    .where('id', '=', candidate.id)
    .executeTakeFirstOrThrow();
}
