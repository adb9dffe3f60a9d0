import { describe, expect, it } from 'vitest';
import { classifyAnswer, retryAfterMs } from '../../src/operator/agent-answer.ts';
import { outcomeOf } from '../../src/operator/post-events.ts';

const NOW = new Date('2026-03-01T10:00:00.000Z');
const TYPE = 'application/vnd.service.agent.v1+json; charset=utf-8';

function classify(status: number, body: string, headers: Record<string, string> = { 'content-type': TYPE }): unknown {
  return classifyAnswer({ status, headers, text: body }, NOW);
}

describe('an answer', () => {
  it('with a body of our media type is taken', () => {
    expect(classify(200, '{"a":1}', { 'content-type': TYPE, etag: '"7"' })).toEqual({
      state: 'ok',
      status: 200,
      body: { a: 1 },
      etag: '"7"',
    });
    expect(classify(204, '', {})).toEqual({ state: 'ok', status: 204, body: undefined });
    expect(classify(304, '', { etag: '"7"' })).toEqual({ state: 'ok', status: 304, body: undefined, etag: '"7"' });
  });

  it('is a refusal of ours with our media type and a known code', () => {
    expect(classify(401, '{"error":"expired_token","message":"it is over","requestId":"r"}')).toEqual({
      state: 'refused',
      status: 401,
      code: 'expired_token',
      message: 'it is over',
      body: { error: 'expired_token', message: 'it is over', requestId: 'r' },
    });
  });

  it.each([
    ['HTML', 401, '<h1>Login</h1>', { 'content-type': 'text/html' }],
    ['HTML that claims our media type', 403, '<h1>Forbidden</h1>', { 'content-type': TYPE }],
    ['JSON of another media type', 403, '{"error":"forbidden"}', { 'content-type': 'application/json' }],
    ['an unknown code', 403, '{"error":"computer_says_no"}', { 'content-type': TYPE }],
    ['nothing', 404, '', {}],
    ['a success that is a page', 200, '<h1>Welcome</h1>', { 'content-type': 'text/html' }],
    ['a redirect', 302, '', { location: 'https://login.test' }],
  ])('is somebody else’s, to be tried again, with %s', (_, status, body, headers) => {
    expect(classify(status, body, headers as Record<string, string>)).toMatchObject({
      state: 'unavailable',
      answered: false,
      cut: false,
    });
  });

  it.each([
    [500, false, undefined],
    [502, true, undefined],
    [503, false, 7000],
    [504, true, undefined],
  ])('%i is an outage', (status, cut, wait) => {
    const headers = wait === undefined ? {} : { 'retry-after': '7' };
    expect(classify(status, '', headers as Record<string, string>)).toEqual({
      state: 'unavailable',
      message: `answered ${status}`,
      cut,
      answered: false,
      ...(wait === undefined ? {} : { retryAfterMs: wait }),
    });
  });

  it('429 of ours is a wait, and still proof that the control plane is there', () => {
    const answer = classify(429, '{"error":"rate_limited","message":"slower"}', {
      'content-type': TYPE,
      'retry-after': '3',
    });
    expect(answer).toEqual({
      state: 'unavailable',
      message: 'answered 429: slower',
      cut: false,
      answered: true,
      retryAfterMs: 3000,
    });
  });
});

describe('Retry-After', () => {
  it.each([
    ['5', 5000],
    ['Sun, 01 Mar 2026 10:00:30 GMT', 30_000],
    ['Sun, 01 Mar 2026 09:00:00 GMT', 0],
    ['99999999', 86_400_000],
    ['soon', undefined],
    [undefined, undefined],
  ])('%s is read', (value, ms) => {
    expect(retryAfterMs(value, NOW)).toBe(ms);
  });
});

describe('what an answer means for a batch of events', () => {
  it.each([
    [{ state: 'ok', status: 204, body: undefined } as const, { state: 'accepted' }],
    [
      {
        state: 'refused',
        status: 400,
        code: 'constraint_violated',
        message: 'bad',
        body: { faults: [{ path: '/events/12/conditions/0/status', message: 'bad' }] },
      } as const,
      { state: 'rejected', tooLarge: false, message: 'bad', index: 12 },
    ],
    [
      { state: 'refused', status: 413, code: 'payload_too_large', message: 'large', body: {} } as const,
      { state: 'rejected', tooLarge: true, message: 'large' },
    ],
    [
      { state: 'refused', status: 401, code: 'invalid_token', message: 'who', body: {} } as const,
      { state: 'retry', message: 'invalid_token: who' },
    ],
    [
      { state: 'unavailable', message: 'away', cut: false, answered: false, retryAfterMs: 9 } as const,
      { state: 'retry', message: 'away', afterMs: 9 },
    ],
  ])('%o', (answer, outcome) => {
    expect(outcomeOf(answer)).toEqual(outcome);
  });
});
