import type { CreateTableBuilder, Kysely } from 'kysely';

/** A table of text columns, whose names are separated by spaces. */
export function table(
  db: Kysely<unknown>,
  name: string,
  required: string,
  optional: string,
): CreateTableBuilder<string, string> {
  let builder: CreateTableBuilder<string, string> = db.schema.createTable(name);
  for (const column of names(required)) builder = builder.addColumn(column, 'text', (text) => text.notNull());
  for (const column of names(optional)) builder = builder.addColumn(column, 'text');
  return builder;
}

/** Named by its table and columns. */
export async function index(db: Kysely<unknown>, table: string, columns: readonly string[]): Promise<void> {
  await db.schema
    .createIndex([table, ...columns].join('_'))
    .on(table)
    .columns([...columns])
    .execute();
}

function names(text: string): string[] {
  return text.split(' ').filter((name) => name !== '');
}
