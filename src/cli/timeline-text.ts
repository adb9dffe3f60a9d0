import type { Paint, Tone } from './colours.ts';
import { printable } from './git-views.ts';
import { textTable } from './text-table.ts';

/** `GET /intents/{id}/timeline` */
export interface Timeline {
  readonly intent: string;
  readonly items: readonly TimelineItem[];
}

export interface TimelineItem {
  readonly at?: string;
  readonly step: string;
  readonly state: 'done' | 'current' | 'pending' | 'failed';
  readonly text: string;
  readonly by?: string;
  readonly ref?: { readonly kind: string; readonly id: string; readonly repository?: string };
}

const MARKS: Readonly<Record<TimelineItem['state'], readonly [mark: string, tone: Tone]>> = {
  done: ['done', 'good'],
  current: ['now', 'warning'],
  pending: ['to come', 'dim'],
  failed: ['failed', 'bad'],
};

/** A line for each step, in its order. */
export function timelineText({ items }: Pick<Timeline, 'items'>, paint: Paint = (_, text) => text): string {
  const rows = items.map(({ at = '-', step, state, text, by, ref }) => [
    MARKS[state][0],
    step,
    at,
    oneLine([text, by === undefined ? '' : `by ${by}`, refText(ref)].filter((part) => part !== '').join(', ')),
  ]);
  return textTable([['', 'STEP', 'AT', 'WHAT'], ...rows], (text, row, column) => {
    if (row === 0) return paint('bold', text);
    const item = items[row - 1];
    return item === undefined || column > 1 ? text : paint(MARKS[item.state][1], text);
  });
}

function refText(ref: TimelineItem['ref']): string {
  // The application is what the line is about.
  if (ref === undefined || ref.kind === 'release') return '';
  const id = ref.kind === 'commit' ? ref.id.slice(0, 10) : ref.id;
  return ref.repository === undefined ? `${ref.kind} ${id}` : `${ref.kind} ${id} in ${ref.repository}`;
}

/** What comes next, or is waited for; undefined once it has come to its end. */
export function waitingText({ items }: Pick<Timeline, 'items'>): string | undefined {
  const current = items.find(({ state }) => state === 'current');
  if (current === undefined) return undefined;
  const text = oneLine(current.text);
  return text.startsWith('waits') ? text : `next: ${text}`;
}

export type Ending = 'ready' | 'removed' | 'failed' | 'superseded';

/** How it ended, and why; undefined while it goes on. */
export function endingOf({
  items,
}: Pick<Timeline, 'items'>): { readonly as: Ending; readonly text: string } | undefined {
  if (items.some(({ state }) => state === 'current' || state === 'pending')) return undefined;
  const last = items.at(-1);
  if (last === undefined) return undefined;
  const { step, state, text } = last;
  const as: Ending = step === 'ready' || step === 'removed' || step === 'superseded' ? step : 'failed';
  return { as: state === 'failed' ? 'failed' : as, text: oneLine(text) };
}

export function oneLine(text: string): string {
  return printable(text).replaceAll(/\s*\n\s*/g, ' ');
}
