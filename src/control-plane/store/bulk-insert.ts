import { CompiledQuery, PostgresAdapter, type Kysely } from 'kysely';
import type { Database } from './schema.ts';

/** Rows in one statement. Few sizes, so that each statement's text is compiled and prepared once and then found again. */
const SIZES = [128, 32, 8, 1] as const;

/** On PostgreSQL, where the rows of a statement are one parameter. */
const MAX_JSON_ROWS = 1000;

export interface BulkInsert<Row, Result> {
  /**
   * Inserts all rows in their order.
   *
   * @returns what the statements return
   */
  run(trx: Kysely<Database>, rows: readonly Row[]): Promise<Result[]>;
}

/**
 * A prepared insert of many rows. Building a query of hundreds of rows costs more than running it, so it is built once
 * per size, from a row of placeholders, and later runs only put the values in place. On PostgreSQL, where each statement
 * is a round trip, one text takes any number of rows as JSON.
 *
 * @param columns the row's columns in the order of the statement's parameters
 * @param build the statement for that many rows, each with exactly `columns`
 */
export function bulkInsert<Row extends object, Result = unknown>(
  columns: readonly (keyof Row & string)[],
  build: (trx: Kysely<Database>, rows: readonly Row[]) => { compile(): CompiledQuery<Result> },
): BulkInsert<Row, Result> {
  // Per kind of database too: each has a text of its own.
  const compiledFor = new WeakMap<object, Map<number, CompiledQuery<Result>>>();
  const statement = (trx: Kysely<Database>, size: number): CompiledQuery<Result> => {
    const kind = trx.getExecutor().adapter.constructor;
    const compiled = compiledFor.get(kind) ?? new Map<number, CompiledQuery<Result>>();
    compiledFor.set(kind, compiled);
    const known = compiled.get(size);
    if (known !== undefined) return known;
    // Numbers of their own show that the parameters stand in the order that `run` fills in.
    const placeholders = Array.from({ length: size }, (_, row) =>
      Object.fromEntries(columns.map((column, place) => [column, row * columns.length + place])),
    );
    const query = build(trx, placeholders as unknown as Row[]).compile();
    const inOrder = query.parameters.every((value, place) => value === place);
    if (!inOrder || query.parameters.length !== size * columns.length) {
      throw new Error(`a bulk insert must take the columns ${columns.join(', ')} and nothing else, in this order`);
    }
    compiled.set(size, query);
    return query;
  };
  const texts = new Map<string, string>();
  const runAsJson = async (trx: Kysely<Database>, rows: readonly Row[]): Promise<Result[]> => {
    const one = statement(trx, 1);
    const text = texts.get(one.sql) ?? overJson(one.sql, columns);
    texts.set(one.sql, text);
    const results: Result[] = [];
    for (let start = 0; start < rows.length; start += MAX_JSON_ROWS) {
      const json = JSON.stringify(rows.slice(start, start + MAX_JSON_ROWS), storable);
      const query = CompiledQuery.raw(text, [json]) as CompiledQuery<Result>;
      const { rows: returned } = await trx.executeQuery<Result>(query);
      for (const result of returned) results.push(result);
    }
    return results;
  };
  return {
    run: async (trx, rows) => {
      if (trx.getExecutor().adapter instanceof PostgresAdapter) return await runAsJson(trx, rows);
      const results: Result[] = [];
      let start = 0;
      while (start < rows.length) {
        const left = rows.length - start;
        const size = SIZES.find((candidate) => candidate <= left) ?? 1;
        const parameters: unknown[] = [];
        for (let index = start; index < start + size; index += 1) {
          const row = rows[index];
          // What a row leaves out is NULL, as it is where rows go as JSON.
          if (row !== undefined) for (const column of columns) parameters.push(row[column] ?? null);
        }
        const { rows: returned } = await trx.executeQuery<Result>({ ...statement(trx, size), parameters });
        for (const result of returned) results.push(result);
        start += size;
      }
      return results;
    },
  };
}

/** The insert of one row, with the rows of a JSON array in the place of its values; the table says the columns' types. */
function overJson(text: string, columns: readonly string[]): string {
  const [, table] = /^insert into ("[a-z_]+") /.exec(text) ?? [];
  const values = /\bvalues \(\$1(?:, \$\d+)*\)/;
  if (table === undefined || !values.test(text)) throw new Error(`a bulk insert cannot be read: ${text}`);
  const list = columns.map((column) => `"${column}"`).join(', ');
  return text.replace(values, `select ${list} from json_populate_recordset(null::${table}, $1)`);
}

/** A NUL cannot be in a text of PostgreSQL, see `postgres-pool.ts`. */
function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' && value.includes('\u0000') ? value.replaceAll('\u0000', '\uFFFD') : value;
}
