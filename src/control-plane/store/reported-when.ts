import { sql, type RawBuilder } from 'kysely';

/**
 * When a row of `resource_conditions` was reported, to be compared between resources that had one name after each other:
 * greater text is later. `order_key` itself compares events of one resource only, since without `sequence` it begins with
 * `metadata.generation`, and an object that is made anew begins with 1 again.
 *
 * With `sequence`: that, and after every time, as in the fold. Without: the later of transition and timestamp, which stand
 * at fixed places in the key; where neither is known, or it lies in the future by a clock that runs ahead, when it arrived.
 *
 * @param table name or alias
 */
export function reportedWhen(table: string): RawBuilder<string> {
  const key = sql.ref(`${table}.order_key`);
  const arrived = sql.ref(`${table}.updated_at`);
  const transition = sql`substr(${key}, 20, 30)`;
  const timestamp = sql`substr(${key}, 51, 30)`;
  const told = sql`CASE WHEN ${transition} > ${timestamp} THEN ${transition} ELSE ${timestamp} END`;
  return sql<string>`CASE WHEN substr(${key}, 1, 2) = '1|' THEN ${key}
    WHEN (${told}) BETWEEN '0001' AND ${arrived} THEN '0|' || (${told})
    ELSE '0|' || ${arrived} END`;
}
