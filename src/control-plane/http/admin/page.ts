import { Type, type Static } from 'typebox';
import { refusal } from '../../../protocol/parse.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 500;

/** Query of every list. A list takes no other parameters unless it says so. */
export const PageQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT })),
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
  },
  { additionalProperties: false },
);
export type PageQuery = Static<typeof PageQuery>;

/** A list as it is answered. `nextCursor` is there when more follows. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

/** Sort key of the last item of a page; the next page starts behind it, whatever was added or removed meanwhile. */
export type PageKey = readonly (string | number)[];

export interface PageRequest {
  readonly limit: number;
  readonly after: PageKey | undefined;
}

/**
 * @param list what the key ends with besides, where lists of other things have keys of the same shape
 * @param shape one letter a part of the key: `s` text, `n` whole number
 * @throws AppError `constraint_violated` for a cursor that is not one of this list
 */
export function readPage(query: PageQuery, shape: string, list?: string): PageRequest {
  const limit = query.limit ?? DEFAULT_LIMIT;
  if (query.cursor === undefined) return { limit, after: undefined };
  const read = decodeCursor(query.cursor);
  const isOfList = list === undefined || read?.at(-1) === list;
  const after = list === undefined ? read : read?.slice(0, -1);
  const fits =
    isOfList &&
    after?.length === shape.length &&
    after.every((part, index) => (shape[index] === 'n' ? Number.isSafeInteger(part) : typeof part === 'string'));
  if (after === undefined || !fits) {
    throw refusal([{ path: '/cursor', message: 'is not a cursor of this list; take nextCursor of an earlier page' }]);
  }
  return { limit, after };
}

/**
 * Reads one item more than asked for to learn whether a page follows.
 *
 * @param read at most `limit` items behind `after`
 */
export async function answerPage<Row, T>(
  page: PageRequest,
  read: (limit: number) => Promise<readonly Row[]>,
  keyOf: (row: Row) => PageKey,
  view: (row: Row) => T,
): Promise<Page<T>> {
  const rows = await read(page.limit + 1);
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const items = shown.map(view);
  if (rows.length <= page.limit || last === undefined) return { items };
  return { items, nextCursor: cursorAfter(keyOf(last)) };
}

/** The cursor of the page behind the item of that key. */
export function cursorAfter(key: PageKey): string {
  return Buffer.from(JSON.stringify(key), 'utf8').toString('base64url');
}

function decodeCursor(cursor: string): PageKey | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(parsed) ? (parsed as PageKey) : undefined;
  } catch {
    return undefined;
  }
}
