import type { Kysely } from 'kysely';
import { localName } from './repositories.ts';
import type { Database, RepositoryRow } from './schema.ts';

/** In the audit: a move of a repository's layout came to nothing. */
export const LAYOUT_MOVE_GIVEN_UP = 'RepositoryLayoutMoveGivenUp';

/** Says so of a repository, as its summary. */
export function keepsLayout(repository: RepositoryRow): string {
  return `repository ${localName(repository)} keeps the ${repository.layout} layout`;
}

/** Why the last move of this repository was given up; undefined where none was. */
export async function whyGivenUp(db: Kysely<Database>, repository: RepositoryRow): Promise<string | undefined> {
  const entry = await db
    .selectFrom('audit')
    .select('reason')
    .where('organization_id', '=', repository.organization_id)
    .where('kind', '=', LAYOUT_MOVE_GIVEN_UP)
    .where('summary', '=', keepsLayout(repository))
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return entry?.reason ?? undefined;
}
