import type { CompiledQuery, Kysely } from 'kysely';
import type { Database } from './schema.ts';

/** Rows in one statement. Few sizes, so that each statement's text is compiled and prepared once and then found again. */
const SIZES = [128, 32, 8, 1] as const;

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
 * per size, from a row of placeholders, and later runs only put the values in place.
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
  return {
    run: async (trx, rows) => {
      const results: Result[] = [];
      let start = 0;
      while (start < rows.length) {
        const left = rows.length - start;
        const size = SIZES.find((candidate) => candidate <= left) ?? 1;
        const parameters: unknown[] = [];
        for (let index = start; index < start + size; index += 1) {
          const row = rows[index];
          if (row !== undefined) for (const column of columns) parameters.push(row[column]);
        }
        const { rows: returned } = await trx.executeQuery<Result>({ ...statement(trx, size), parameters });
        for (const result of returned) results.push(result);
        start += size;
      }
      return results;
    },
  };
}
