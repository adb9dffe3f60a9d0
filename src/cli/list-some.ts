import { InvalidArgumentError, Option } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { callControlPlane, type ConnectionOptions } from './connection.ts';
import { cursorAfter } from './unexpected-answer.ts';

const DEFAULT_LIMIT = 100;
const PAGE = 500;

/** `--limit` of a list that has no end to speak of. */
export function limitOption(): Option {
  return new Option('--limit <number>', 'so many at the most, the newest; 0 for all')
    .argParser((text: string) => {
      if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It is a whole number, 0 for all.');
      return Number(text);
    })
    .default(DEFAULT_LIMIT);
}

/** The first of a list, up to the limit; that there are more is said on standard error. */
export async function listSome<T>(
  options: ConnectionOptions & { readonly limit: number },
  deps: CliDeps,
  { path, query }: { readonly path: string; readonly query: string },
): Promise<readonly T[]> {
  const limit = options.limit === 0 ? Number.POSITIVE_INFINITY : options.limit;
  const items: T[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const asked = new URLSearchParams(query);
    asked.set('limit', String(Math.min(PAGE, limit - items.length)));
    if (cursor !== undefined) asked.set('cursor', cursor);
    const page = await callControlPlane<{ readonly items: readonly T[]; readonly nextCursor?: string }>(
      options,
      deps,
      'GET',
      `${path}?${asked.toString()}`,
    );
    cursor = cursorAfter(page, seen);
    items.push(...page.items);
  } while (cursor !== undefined && items.length < limit);
  if (cursor !== undefined && deps.isQuiet !== true) {
    deps.err(`There are more than these ${items.length}: --limit 0 prints all\n`);
  }
  return items;
}
