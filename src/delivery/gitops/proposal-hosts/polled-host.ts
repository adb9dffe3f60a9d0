import type { HostedProposal, ProposalHost } from './proposal-host.ts';

/** What one look at a host's list of requests gave. */
export interface Changes {
  /** Requests of the repository that changed, each once, whoever opened them. */
  readonly requests: readonly HostedProposal[];
  /** Handed to the next look. */
  readonly cursor: ChangeCursor;
}

/** Where a look ended: kept in memory, and losing it costs one longer look. */
export interface ChangeCursor {
  /** The newest change that was seen, as the host writes times. */
  readonly since?: string;
  /** Of the first page: a host that knows it answers 304 to an unchanged one, which GitHub does not count. */
  readonly etag?: string;
}

/** A host whose requests can be followed by its list of them, so that many open ones cost one request. */
export interface PolledHost extends ProposalHost {
  /** `of`: repository as its webhooks name it. */
  readonly repository: string;
  changes(cursor: ChangeCursor, signal: AbortSignal): Promise<Changes>;
}

export const PAGE_SIZE = 50;
/** Pages of one look. What is beyond is looked at by its number, as everything is now and then. */
export const MAX_PAGES = 4;

/** Reads pages, the newest change first, until one that was seen before. */
export async function readChanges<Item extends HostedProposal>(
  cursor: ChangeCursor,
  page: (
    number: number,
    etag: string | undefined,
  ) => Promise<
    { readonly items: readonly (Item & { readonly changedAt: string })[]; readonly etag?: string | undefined } | 'same'
  >,
): Promise<Changes> {
  const requests: Item[] = [];
  let next: ChangeCursor = cursor;
  for (let number = 1; number <= MAX_PAGES; number += 1) {
    const got = await page(number, number === 1 ? cursor.etag : undefined);
    if (got === 'same') return { requests, cursor };
    if (number === 1) {
      const newest = got.items[0]?.changedAt ?? cursor.since;
      next = {
        ...(newest === undefined ? {} : { since: newest }),
        ...(got.etag === undefined ? {} : { etag: got.etag }),
      };
    }
    // What changed in the very second that was seen last may have changed again in it.
    const since = cursor.since === undefined ? 0 : Date.parse(cursor.since);
    const fresh = got.items.filter(({ changedAt }) => Date.parse(changedAt) >= since);
    requests.push(...fresh);
    if (fresh.length < got.items.length || got.items.length < PAGE_SIZE) break;
  }
  return { requests, cursor: next };
}
