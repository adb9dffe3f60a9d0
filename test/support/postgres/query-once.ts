import { text } from 'node:stream/consumers';
import { Client, TypeOverrides, types } from 'pg';

/** One statement from standard input; its rows as JSON on standard output. */
const asked = JSON.parse(await text(process.stdin)) as { url: string; text: string; parameters: unknown[] };
const overrides = new TypeOverrides();
overrides.setTypeParser(types.builtins.INT8, Number);
const client = new Client({ connectionString: asked.url, types: overrides });
await client.connect();
try {
  const { rows } = await client.query(asked.text, asked.parameters);
  process.stdout.write(JSON.stringify(rows));
} finally {
  await client.end();
}
