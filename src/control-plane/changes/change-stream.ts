import type { Clock } from '../../runtime/clock.ts';
import { reachOfChanges, readChangesOf, type StoredChange } from '../store/change-pages.ts';
import type { Store } from '../store/open-store.ts';
import type { ChangeLog } from './change-log.ts';

/** Comments keep proxies from ending a quiet stream, and bound how long a withdrawn token goes on. */
export const HEARTBEAT_MS = 15_000;
const PAGE = 500;
/** How soon a client comes back that lost the stream. */
const RETRY_MS = 2000;

/** What somebody follows. */
export interface Followed {
  readonly organizationId: string;
  /** undefined: all. */
  readonly resources: ReadonlySet<string> | undefined;
  readonly clusterId: string | undefined;
  /** The last number that was seen; undefined: from now on. */
  readonly after: number | undefined;
}

export interface StreamDeps {
  readonly store: Pick<Store, 'db'>;
  readonly log: ChangeLog;
  readonly clock: Clock;
  /** Whether whoever follows still may. */
  readonly mayGoOn: () => Promise<boolean>;
}

/** Changes of these have its token looked at again at once. */
const OF_ACCESS: ReadonlySet<string> = new Set(['admin-tokens', 'members', 'organization']);

/**
 * The text of a stream of server-sent events (WHATWG HTML, section 9.2), until aborted or until whoever follows may no
 * longer. Of what is waiting to be sent, what is the same is said once, under the last number of it.
 */
export async function* changeStream(deps: StreamDeps, followed: Followed, stop: AbortSignal): AsyncGenerator<string> {
  const { log, store, clock } = deps;
  using _following = log.follow();
  yield `retry: ${RETRY_MS}\n\n`;
  let position = followed.after;
  let beatAt = clock.now().getTime() + HEARTBEAT_MS;
  for (;;) {
    const seen = log.version;
    const { settled } = log;
    if (settled !== undefined) {
      const isFirst = position === undefined;
      position ??= settled;
      if (isFirst) yield `: from here on\nid: ${position}\n\n`;
      const { from, to } = await reachIfNeeded(deps, position);
      if (position < Math.max(from, log.doubtfulUpTo) || position > to) {
        position = settled;
        yield `event: reset\nid: ${position}\ndata: {}\n\n`;
      }
      const { changes, upTo } = await changesBehind(deps, followed.organizationId, position, settled);
      if (changes.some(({ resource }) => OF_ACCESS.has(resource)) && !(await deps.mayGoOn())) return;
      const text = textOf(changes.filter((change) => isFollowed(change, followed)));
      position = Math.max(position, upTo);
      if (text !== '') yield text;
      if (upTo < settled) continue;
    }
    const now = clock.now().getTime();
    if (now >= beatAt) {
      beatAt = now + HEARTBEAT_MS;
      if (!(await deps.mayGoOn())) return;
      yield `: heartbeat\n${position === undefined ? '' : `id: ${position}\n`}\n`;
      continue;
    }
    if (stop.aborted) return;
    try {
      await log.wait(seen, stop, beatAt - now);
    } catch (error) {
      if (stop.aborted) return;
      throw error;
    }
  }

  async function reachIfNeeded(
    { log: { settled } }: StreamDeps,
    at: number,
  ): Promise<{ readonly from: number; readonly to: number }> {
    // What is kept here reaches back far enough, and `at` is behind what is known.
    if (settled !== undefined && at <= settled && log.keptAfter(at) !== undefined) {
      return { from: 0, to: Number.POSITIVE_INFINITY };
    }
    return await reachOfChanges(store.db);
  }
}

/** @returns those of the organization in their order, and up to where it is all of them */
async function changesBehind(
  { log, store }: StreamDeps,
  organizationId: string,
  position: number,
  settled: number,
): Promise<{ readonly changes: readonly StoredChange[]; readonly upTo: number }> {
  if (position >= settled) return { changes: [], upTo: settled };
  const kept = log.keptAfter(position);
  if (kept !== undefined) {
    return { changes: kept.filter((one) => one.organization_id === organizationId), upTo: kept.at(-1)?.seq ?? settled };
  }
  const changes = await readChangesOf(store.db, organizationId, { after: position, upTo: settled, limit: PAGE });
  return { changes, upTo: changes.length < PAGE ? settled : (changes.at(-1)?.seq ?? settled) };
}

function isFollowed({ resource, cluster_id: clusterId }: StoredChange, followed: Followed): boolean {
  if (followed.resources !== undefined && !followed.resources.has(resource)) return false;
  return followed.clusterId === undefined || clusterId === followed.clusterId;
}

function textOf(changes: readonly StoredChange[]): string {
  const last = new Map<string, number>();
  for (const { seq, ...change } of changes) {
    const data = dataOf(change);
    // Behind what came meanwhile: numbers go up.
    last.delete(data);
    last.set(data, seq);
  }
  return [...last].map(([data, seq]) => `id: ${seq}\nevent: change\ndata: ${data}\n\n`).join('');
}

function dataOf({ resource, resource_id: id, cluster_id: clusterId }: Omit<StoredChange, 'seq'>): string {
  return JSON.stringify({
    resource,
    ...(id === null ? {} : { id }),
    ...(clusterId === null ? {} : { clusterId }),
  });
}
