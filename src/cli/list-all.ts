import type { CliDeps } from './cli-deps.ts';
import { callControlPlane, type ConnectionOptions } from './connection.ts';

interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

/** All pages of a list. `path` may have a query. */
export async function listAll<T>(options: ConnectionOptions, deps: CliDeps, path: string): Promise<readonly T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const next: string =
      cursor === undefined ? '' : `${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
    const page: Page<T> = await callControlPlane<Page<T>>(options, deps, 'GET', `${path}${next}`);
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}
