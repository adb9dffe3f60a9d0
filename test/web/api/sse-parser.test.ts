import { expect, it } from 'vitest';
import { backoff } from '../../../src/web/api/backoff.ts';
import { SseParser } from '../../../src/web/api/sse-parser.ts';

it('reads events however they are cut, and leaves comments out', () => {
  const text =
    ': hello\n\nid: 7\nevent: change\ndata: {"resource":"clusters"}\n\n: still here\n\nevent: reset\r\ndata:a\r\ndata: b\r\n\r\n';
  const expected = [
    { event: 'change', data: '{"resource":"clusters"}', id: '7' },
    { event: 'reset', data: 'a\nb' },
  ];
  for (let size = 1; size <= text.length; size += 1) {
    const parser = new SseParser();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...parser.push(text.slice(at, at + size)));
    expect(found).toEqual(expected);
  }
});

it('tells nothing of an event that is not whole yet', () => {
  const parser = new SseParser();
  expect(parser.push('id: 8\nevent: change\ndata: {}')).toEqual([]);
  expect(parser.push('\n')).toEqual([]);
  expect(parser.push('\n')).toEqual([{ event: 'change', data: '{}', id: '8' }]);
});

it('waits twice as long each time, up to a limit, with half of it left to chance', () => {
  expect([0, 1, 2, 3, 9].map((attempt) => backoff(attempt, 1000, 5000, () => 0))).toEqual([
    500, 1000, 2000, 2500, 2500,
  ]);
  expect([0, 1, 2, 3, 9].map((attempt) => backoff(attempt, 1000, 5000, () => 1))).toEqual([
    1000, 2000, 4000, 5000, 5000,
  ]);
});
