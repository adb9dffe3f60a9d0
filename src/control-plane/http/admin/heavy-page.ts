import { cursorAfter, type Page, type PageKey, type PageRequest } from './page.ts';

/** What is read for one page; it ends with the row that goes over. */
const MAX_PAGE_CHARACTERS = 8 * 1024 * 1024;
const FIRST_ROWS = 8;

/**
 * A page of rows that may be half a mebibyte each: it ends before `limit` when it weighs enough, and `nextCursor` says that
 * more follows. Rows are read a few at a time, so that no page holds up the process.
 *
 * @param read at most `limit` rows behind `after`
 * @param weightOf characters of a row
 */
export async function answerHeavyPage<Row, T>(
  page: PageRequest,
  read: (limit: number, after: PageKey | undefined) => Promise<readonly Row[]>,
  keyOf: (row: Row) => PageKey,
  weightOf: (row: Row) => number,
  view: (row: Row) => T,
): Promise<Page<T>> {
  const items: T[] = [];
  let { after } = page;
  let weight = 0;
  for (let count = FIRST_ROWS; ; count *= weight < MAX_PAGE_CHARACTERS / FIRST_ROWS ? FIRST_ROWS : 1) {
    const wanted = Math.min(count, page.limit - items.length);
    const rows = await read(wanted + 1, after);
    const taken = items.length;
    for (const row of rows.slice(0, wanted)) {
      items.push(view(row));
      after = keyOf(row);
      weight += weightOf(row);
      if (weight >= MAX_PAGE_CHARACTERS) break;
    }
    if (rows.length === items.length - taken || after === undefined) return { items };
    if (items.length >= page.limit || weight >= MAX_PAGE_CHARACTERS) return { items, nextCursor: cursorAfter(after) };
  }
}
