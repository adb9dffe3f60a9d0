import { sql, type RawBuilder } from 'kysely';

/** The last of all characters: every text that begins with `prefix` lies before `prefix` with this behind it. */
const LAST = '\u{10FFFF}';

/**
 * Whether a column begins with a text, as a range of its index: both databases compare text byte by byte.
 *
 * @param column `table.column`
 */
export function beginsWith(column: string, prefix: string): RawBuilder<boolean> {
  const ref = sql.ref(column);
  return sql<boolean>`(${ref} >= ${prefix} AND ${ref} < ${prefix + LAST})`;
}

/**
 * A column that a condition is on while the index of another one gives the rows: SQLite, which counts none, takes an equal
 * organization for the better lead than the beginning of an id.
 */
export function withoutIndex(column: string): RawBuilder<string> {
  return sql<string>`(${sql.ref(column)} || '')`;
}

/** Whether a column holds a text anywhere, in any case of ASCII letters, which is what both databases know. */
export function containsText(column: string, text: string): RawBuilder<boolean> {
  const escaped = text.replace(/[\\%_]/g, (character) => `\\${character}`);
  const lower = escaped.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return sql<boolean>`lower(${sql.ref(column)}) LIKE ${`%${lower}%`} ESCAPE '\\'`;
}
