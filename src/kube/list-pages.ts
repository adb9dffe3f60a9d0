import type { KubeObject } from '../resources/kube-object.ts';
import { KubeError, type KindRef, type ListResult } from './cluster-api.ts';
import { ANSWER_TOO_LARGE, ANSWER_UNREADABLE } from './kube-fault.ts';

/** A list that takes longer than the server keeps its snapshot starts over; this often, then it is read unpaged. */
const PAGED_ATTEMPTS = 3;
/** Millions of objects; a server that goes on after that would never end. */
const MAX_PAGES = 10_000;

/**
 * Reads a whole list in pages. A continue token that expired midway (410) starts over, twice; the third time the list is
 * read in one answer, which cannot expire.
 *
 * @param readPage reads one page; `limit` 0 is everything
 */
export async function listPages<T extends KubeObject>(
  kind: KindRef,
  limit: number,
  readPage: (limit: number, token: string | undefined) => Promise<unknown>,
): Promise<ListResult<T>> {
  for (let attempt = 1; ; attempt += 1) {
    const pageSize = attempt <= PAGED_ATTEMPTS ? limit : 0;
    try {
      return await readAll<T>(kind, async (token) => readPage(pageSize, token));
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 410 || attempt > PAGED_ATTEMPTS) throw error;
    }
  }
}

async function readAll<T extends KubeObject>(
  kind: KindRef,
  readPage: (token: string | undefined) => Promise<unknown>,
): Promise<ListResult<T>> {
  const items: T[] = [];
  let token: string | undefined;
  for (let count = 1; ; count += 1) {
    const page = await readPage(token);
    const list = listOf(page, kind);
    // Items of a list carry no kind of their own: the list's stands for them.
    for (const item of list.items) items.push({ ...kind, ...(item as object) } as T);
    if (list.token === '') return { items, resourceVersion: list.resourceVersion };
    if (list.token === token) {
      const message = `the list of ${kind.kind} repeats its continue token and would never end`;
      throw new KubeError(message, { status: 0, reason: ANSWER_UNREADABLE });
    }
    if (count >= MAX_PAGES) {
      const message = `the list of ${kind.kind} has not ended after ${MAX_PAGES} pages`;
      throw new KubeError(message, { status: 0, reason: ANSWER_TOO_LARGE });
    }
    token = list.token;
  }
}

/** The first objects of a list and no more, whatever the server sends: one request. */
export async function listFirst<T extends KubeObject>(
  kind: KindRef,
  atMost: number,
  readPage: (limit: number, token: undefined) => Promise<unknown>,
): Promise<ListResult<T>> {
  const { items, resourceVersion } = listOf(await readPage(atMost, undefined), kind);
  return { items: items.slice(0, atMost).map((item) => ({ ...kind, ...(item as object) }) as T), resourceVersion };
}

interface Page {
  readonly items: readonly unknown[];
  readonly token: string;
  readonly resourceVersion: string;
}

function listOf(page: unknown, kind: KindRef): Page {
  const list = asList(page);
  if (list !== undefined) return list;
  throw new KubeError(`the answer to a list of ${kind.kind} is not a list`, { status: 0, reason: ANSWER_UNREADABLE });
}

function asList(page: unknown): Page | undefined {
  if (typeof page !== 'object' || page === null || !('items' in page) || !('metadata' in page)) return undefined;
  const metadata = page.metadata as { readonly continue?: unknown; readonly resourceVersion?: unknown } | null;
  // Go writes an empty slice that was never made as null.
  const items = page.items ?? [];
  if (!Array.isArray(items) || typeof metadata?.resourceVersion !== 'string') return undefined;
  return {
    items,
    token: typeof metadata.continue === 'string' ? metadata.continue : '',
    resourceVersion: metadata.resourceVersion,
  };
}
