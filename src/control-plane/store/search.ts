import type { Kysely } from 'kysely';
import { SEARCHES, type SearchRequest } from './search-kinds.ts';
import { SEARCH_KINDS, type SearchRow } from './search-row.ts';
import type { Database } from './schema.ts';

/** Of each kind, where all are searched: what there is most of does not hide the rest. */
const OF_EACH_KIND = 12;

/**
 * What an organization has, the best first: what is called so, then what begins so, then what holds it; of equally good
 * ones by kind and title. One bounded query a kind, each of which its index answers.
 */
export async function searchAll(db: Kysely<Database>, request: SearchRequest): Promise<SearchRow[]> {
  const { text, kind, limit } = request;
  if (text === '') return [];
  const kinds = kind === undefined ? SEARCH_KINDS : [kind];
  const most = kind === undefined ? Math.min(limit, OF_EACH_KIND) : limit;
  const found: SearchRow[] = [];
  for (const one of kinds) found.push(...(await SEARCHES[one](db, { ...request, limit: most })));
  const ranked = found.map((row) => ({ row, rank: rankOf(row, text), place: SEARCH_KINDS.indexOf(row.kind) }));
  ranked.sort((a, b) => a.rank - b.rank || a.place - b.place || (a.row.title < b.row.title ? -1 : 1));
  return ranked.slice(0, limit).map(({ row }) => row);
}

function rankOf({ id, title }: SearchRow, text: string): number {
  const wanted = text.toLowerCase();
  const names = [title.toLowerCase(), id.toLowerCase(), title.slice(title.indexOf('/') + 1).toLowerCase()];
  if (names.includes(wanted)) return 0;
  return names.some((name) => name.startsWith(wanted)) ? 1 : 2;
}
