import type { CliDeps } from './cli-deps.ts';
import { callControlPlane, type ConnectionOptions } from './connection.ts';
import { cursorAfter } from './unexpected-answer.ts';

interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

/** All pages of a list. `path` may have a query. */
export async function listAll<T>(options: ConnectionOptions, deps: CliDeps, path: string): Promise<readonly T[]> {
  const items: T[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const next: string =
      cursor === undefined ? '' : `${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
    const page: Page<T> = await callControlPlane<Page<T>>(options, deps, 'GET', `${path}${next}`);
    cursor = cursorAfter(page, seen);
    items.push(...page.items);
  } while (cursor !== undefined);
  return items;
}
