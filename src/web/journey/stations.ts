import type { TimelineItem, TimelineRef } from './timeline.ts';

/** A step of a journey as it is shown. */
export interface Station {
  readonly title: string;
  readonly state: TimelineItem['state'];
  readonly text: string;
  readonly at?: string;
  /** Since the step before: `3 s`, `2 min`. */
  readonly took?: string;
  readonly by?: string;
  readonly link?: StationLink;
  readonly isCurrent: boolean;
}

export interface StationLink {
  readonly label: string;
  /** As it is shown. */
  readonly id: string;
  readonly whole: string;
  /** Absent: the page has nothing to show of it. */
  readonly href?: string;
}

const TITLES: Readonly<Record<string, string>> = {
  requested: 'Requested',
  approval: 'Approval',
  proposal: 'Review',
  rendered: 'Rendered',
  committed: 'Committed to Git',
  queued: 'Queued for the operator',
  'applied-by-push': 'Written to the API server',
  delivered: 'Delivered',
  acknowledged: 'Taken by the operator',
  applied: 'Applied in the cluster',
  ready: 'Ready',
  failed: 'Failed',
  superseded: 'Superseded',
  removed: 'Removed',
};

/** What a screen reader hears of a step beside its title. */
export const STATE_WORDS = { done: 'done', current: 'under way', pending: 'still to come', failed: 'failed' } as const;

/** The steps of a journey, each with the time that it took and where its trace is found. */
export function stations(items: readonly TimelineItem[]): readonly Station[] {
  const current = items.findIndex(({ state }) => state === 'current');
  let last: number | undefined;
  return items.map((item, index) => {
    const at = item.at === undefined ? undefined : Date.parse(item.at);
    const took = at === undefined || last === undefined || at < last ? undefined : at - last;
    last = at ?? last;
    return {
      title: TITLES[item.step] ?? item.step,
      state: item.state,
      text: item.text,
      isCurrent: index === current,
      ...(item.at === undefined ? {} : { at: item.at }),
      ...(took === undefined ? {} : { took: span(took) }),
      ...(item.by === undefined ? {} : { by: item.by }),
      ...(item.ref === undefined ? {} : { link: linkOf(item.ref) }),
    };
  });
}

/** What a reader wants to know first: what went wrong, else what is waited for; empty where it has come to its end. */
export function standing(items: readonly TimelineItem[]): string {
  const failed = items.find(({ state }) => state === 'failed');
  if (failed !== undefined) return failed.text;
  const current = items.find(({ state }) => state === 'current');
  if (current !== undefined) return current.text;
  return '';
}

function linkOf({ kind, id, repository }: TimelineRef): StationLink {
  const name = encodeURIComponent(id);
  switch (kind) {
    case 'commit':
      return {
        label: 'commit',
        id: id.slice(0, 10),
        whole: id,
        ...(repository === undefined ? {} : { href: `#/history/${encodeURIComponent(repository)}/commits/${name}` }),
      };
    case 'proposal':
    case 'approval':
    case 'intent':
      return { label: kind, id, whole: id, href: `#/${kind}s/${name}` };
    default:
      return { label: kind, id, whole: id };
  }
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const;

/** A span of time in its two largest units. */
export function span(ms: number): string {
  const from = UNITS.findIndex(([size]) => ms >= size);
  if (from === -1) return 'less than 1 s';
  const parts = UNITS.slice(from, from + 2).map(([size, unit], index) => {
    const above = index === 0 ? Infinity : (UNITS[from]?.[0] ?? Infinity);
    return { count: Math.floor((ms % above) / size), unit };
  });
  return parts
    .filter(({ count }) => count > 0)
    .map(({ count, unit }) => `${count} ${unit}`)
    .join(' ');
}
