import { describe, expect, it } from 'vitest';
import { EventLogWatch } from '../../src/operator/event-log-watch.ts';
import { formatEventLogMark, parseEventLogMark } from '../../src/protocol/event-log.ts';

describe('where the record of events stands', () => {
  it('is read as it was written, and nothing else is', () => {
    const mark = { before: 0, after: 120 };
    expect(parseEventLogMark(formatEventLogMark(mark))).toEqual(mark);
    for (const text of [
      undefined,
      '',
      '1, 2',
      'before=-1, after=2',
      'before=1, after=2, more',
      `before=1, after=1e3`,
    ]) {
      expect(parseEventLogMark(text)).toBeUndefined();
    }
  });

  it('shows a control plane that has forgotten, once for each time', () => {
    const watch = new EventLogWatch();
    const seen = [
      { before: 0, after: 5 },
      { before: 5, after: 5 },
      undefined,
      // Another operator of the cluster, by its last words.
      { before: 7, after: 9 },
      { before: 6, after: 10 },
      { before: 10, after: 11 },
    ].map((mark) => watch.hasForgotten(mark));
    expect(seen).toEqual([false, false, false, false, true, false]);
  });
});
