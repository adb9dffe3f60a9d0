import { describe, expect, it } from 'vitest';
import { AppError, ERROR_STATUS, type ErrorCode } from '../../src/protocol/app-error.ts';
import { errorBody } from '../../src/protocol/http-error.ts';

describe('errorBody', () => {
  it.each(Object.keys(ERROR_STATUS) as ErrorCode[])('answers %s with its status', (code) => {
    const { status, body } = errorBody(new AppError(code, 'why'), 'req-1');
    expect(status).toBe(ERROR_STATUS[code]);
    expect(body).toEqual({ error: code, message: 'why', requestId: 'req-1' });
  });

  it('carries faults and further members, which cannot replace the required ones', () => {
    const error = new AppError('clock_skew', 'late', {
      faults: [{ path: '/a', message: 'b', allowed: ['c'] }],
      extra: { serverTime: 't', error: 'x', requestId: 'y' },
    });
    expect(errorBody(error, 'req-1').body).toEqual({
      error: 'clock_skew',
      message: 'late',
      requestId: 'req-1',
      serverTime: 't',
      faults: [{ path: '/a', message: 'b', allowed: ['c'] }],
    });
  });

  it('says when to come back, in whole seconds', () => {
    expect(errorBody(new AppError('rate_limited', 'x', { retryAfterSeconds: 2.1 }), 'r').retryAfterSeconds).toBe(3);
    expect(errorBody(new AppError('rate_limited', 'x', { retryAfterSeconds: 0 }), 'r').retryAfterSeconds).toBe(1);
    expect(errorBody(new AppError('unavailable', 'x'), 'r').retryAfterSeconds).toBe(5);
    expect(errorBody(new AppError('forbidden', 'x'), 'r')).not.toHaveProperty('retryAfterSeconds');
  });

  it.each([new Error('password=hunter2'), 'hunter2', null, undefined, { message: 'hunter2', statusCode: 418 }])(
    'shows nothing of an unknown failure',
    (error) => {
      const answer = errorBody(error, 'req-1');
      expect(answer.status).toBe(500);
      expect(answer.body.error).toBe('internal');
      expect(JSON.stringify(answer)).not.toContain('hunter2');
    },
  );

  it.each([
    [413, 'payload_too_large'],
    [415, 'unsupported_media_type'],
    [404, 'not_found'],
    [400, 'invalid_body'],
  ])("turns the framework's own %i into our shape", (statusCode, code) => {
    const error = Object.assign(new Error('FST text'), { statusCode, code: 'FST_ERR_SOMETHING' });
    expect(errorBody(error, 'r')).toMatchObject({ status: statusCode, body: { error: code } });
    expect(JSON.stringify(errorBody(error, 'r'))).not.toContain('FST');
  });

  it('does not take a status from an error that is not the framework’s', () => {
    const error = Object.assign(new Error('x'), { statusCode: 404, code: 'ENOENT' });
    expect(errorBody(error, 'r').status).toBe(500);
  });
});
