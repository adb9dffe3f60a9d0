import { expect, it } from 'vitest';
import { span, standing, stations } from '../../../src/web/journey/stations.ts';
import type { TimelineItem } from '../../../src/web/journey/timeline.ts';

const ITEMS: readonly TimelineItem[] = [
  { step: 'requested', state: 'done', text: 'install shop/web', at: '2026-11-28T10:00:00.000Z', by: 'ada' },
  {
    step: 'committed',
    state: 'done',
    text: 'committed to fleet',
    at: '2026-11-28T10:01:05.500Z',
    ref: { kind: 'commit', id: '0123456789abcdef', repository: 'fleet/x' },
  },
  { step: 'applied', state: 'current', text: 'waits for the operator to report revision 0123' },
  { step: 'ready', state: 'pending', text: 'the release reports Ready' },
];

it('tells each step with its title, the time since the one before, and where its trace is', () => {
  expect(stations(ITEMS)).toEqual([
    {
      title: 'Requested',
      state: 'done',
      text: 'install shop/web',
      at: '2026-11-28T10:00:00.000Z',
      by: 'ada',
      isCurrent: false,
    },
    {
      title: 'Committed to Git',
      state: 'done',
      text: 'committed to fleet',
      at: '2026-11-28T10:01:05.500Z',
      took: '1 min 5 s',
      link: {
        label: 'commit',
        id: '0123456789',
        whole: '0123456789abcdef',
        href: '#/history/fleet%2Fx/commits/0123456789abcdef',
      },
      isCurrent: false,
    },
    {
      title: 'Applied in the cluster',
      state: 'current',
      text: 'waits for the operator to report revision 0123',
      isCurrent: true,
    },
    { title: 'Ready', state: 'pending', text: 'the release reports Ready', isCurrent: false },
  ]);
});

it('says what is waited for, a failure before that, and nothing of what has come to its end', () => {
  expect(standing(ITEMS)).toBe('waits for the operator to report revision 0123');
  expect(standing([...ITEMS, { step: 'failed', state: 'failed', text: 'ChartNotFound' }])).toBe('ChartNotFound');
  expect(standing(ITEMS.slice(0, 2))).toBe('');
});

it('names a step that it does not know by its own word, and a trace without a page by its id alone', () => {
  const [station] = stations([{ step: 'teleported', state: 'done', text: '', ref: { kind: 'job', id: 'job-1' } }]);
  expect(station).toMatchObject({ title: 'teleported', link: { label: 'job', id: 'job-1' } });
  expect(station?.link).not.toHaveProperty('href');
});

it('gives a span in its two largest units', () => {
  expect([0, 999, 1000, 61_000, 3_600_000, 90_061_000].map(span)).toEqual(
    ['less than 1 s', 'less than 1 s', '1 s', '1 min 1 s', '1 h', '1 d 1 h'], //
  );
});

it('tells no span where the clocks of two programs disagree', () => {
  const items = [
    { step: 'requested', state: 'done', text: '', at: '2026-11-28T10:00:01Z' },
    { step: 'applied', state: 'done', text: '', at: '2026-11-28T10:00:00Z' },
  ] as const;
  expect(stations(items)[1]).not.toHaveProperty('took');
});
