import {
  CompiledQuery,
  PostgresAdapter,
  type Kysely,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  type RootOperationNode,
  type UnknownRow,
} from 'kysely';
import type { Database } from '../../src/control-plane/store/schema.ts';

/**
 * Tables that grow with the fleet: none of them may be read from end to end for one page. Labels may: a third of all
 * clusters has the same one, for which PostgreSQL rightly reads these short rows in one go.
 */
const LARGE = ['clusters', 'applications', 'intents', 'receipts', 'jobs', 'resource_conditions'];

interface PostgresPlan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PostgresPlan[];
}

/** The queries that go through `db`, and what the database does to answer them. */
export class QueryWatch implements KyselyPlugin {
  readonly queries: CompiledQuery[] = [];
  readonly db: Kysely<Database>;
  readonly #plain: Kysely<Database>;

  constructor(db: Kysely<Database>) {
    this.#plain = db;
    this.db = db.withPlugin(this);
  }

  transformQuery({ node, queryId }: PluginTransformQueryArgs): RootOperationNode {
    this.queries.push(this.#plain.getExecutor().compileQuery(node, queryId));
    return node;
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result;
  }

  /** Reads of a whole large table, each with its query. */
  async scans(): Promise<string[]> {
    const isPostgres = this.#plain.getExecutor().adapter instanceof PostgresAdapter;
    const found: string[] = [];
    for (const { sql, parameters } of this.queries) {
      const explain = isPostgres ? 'EXPLAIN (FORMAT JSON)' : 'EXPLAIN QUERY PLAN';
      const { rows } = await this.#plain.executeQuery<Record<string, unknown>>(
        CompiledQuery.raw(`${explain} ${sql}`, [...parameters]),
      );
      const scanned = isPostgres ? postgresScans(rows) : sqliteScans(rows);
      found.push(...scanned.map((table) => `${table}: ${sql}`));
    }
    return found;
  }
}

function sqliteScans(rows: readonly Record<string, unknown>[]): string[] {
  return rows.flatMap(({ detail }) => {
    const [, table = ''] = /^SCAN (\w+)/.exec(String(detail)) ?? [];
    return LARGE.includes(table) ? [table] : [];
  });
}

function postgresScans(rows: readonly Record<string, unknown>[]): string[] {
  const [first] = rows;
  const plans = first?.['QUERY PLAN'] as readonly { readonly Plan: PostgresPlan }[];
  const scansOf = (plan: PostgresPlan): string[] => {
    const { 'Node Type': type, 'Relation Name': table = '', Plans: plansBelow = [] } = plan;
    const here = type === 'Seq Scan' && LARGE.includes(table) ? [table] : [];
    return [...here, ...plansBelow.flatMap(scansOf)];
  };
  return plans.flatMap(({ Plan: plan }) => scansOf(plan));
}
