import { describe, expect, it } from 'vitest';
import { Timestamp } from '../../src/protocol/condition.ts';
import { compileParser } from '../../src/protocol/parse.ts';
import { isRealTime } from '../../src/protocol/real-time.ts';

describe('isRealTime', () => {
  it.for([
    '2026-11-28T10:00:00Z',
    '2026-11-28t23:59:59.999999999z',
    '2024-02-29T00:00:00Z',
    '2000-02-29T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '2026-12-31T23:59:60Z',
    '1990-12-31T15:59:60-08:00',
    '2017-01-01T05:29:60.5+05:30',
    '2026-01-01T00:00:00+23:59',
  ])('takes %s', (timestamp) => {
    expect(isRealTime(timestamp)).toBe(true);
  });

  it.for([
    '2026-02-30T10:00:00Z',
    '2026-02-29T10:00:00Z',
    '1900-02-29T10:00:00Z',
    '2026-04-31T10:00:00Z',
    '2026-13-01T10:00:00Z',
    '2026-00-10T10:00:00Z',
    '2026-01-00T10:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T10:60:00Z',
    '2026-01-01T10:00:61Z',
    '2026-01-01T10:00:60Z',
    '2026-12-31T23:59:60-01:00',
    '2026-01-01T10:00:00+24:00',
    '2026-01-01T10:00:00+05:60',
    'yesterday',
  ])('refuses %s', (timestamp) => {
    expect(isRealTime(timestamp)).toBe(false);
  });
});

describe('Timestamp', () => {
  it('says where the date is that there is not', () => {
    expect(() => compileParser(Timestamp)('2026-02-30T10:00:00Z')).toThrow('must be a date and time that there is');
  });
});
