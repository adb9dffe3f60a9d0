import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/protocol/app-error.ts';
import { deriveHmacKey, signRequest, verifyRequestSignature } from '../../src/protocol/hmac.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { readVectors } from '../vectors/read-vectors.ts';

interface Vector {
  name: string;
  method: string;
  path: string;
  t: number;
  body?: unknown;
  header: string;
}
const vectors = readVectors<{ token: string; clusterId: string; keyHex: string; cases: Vector[] }>('hmac');
const key = deriveHmacKey(new Secret(vectors.token), vectors.clusterId);
const [sample] = vectors.cases.filter(({ body }) => body !== undefined) as [Vector];

function at(seconds: number): Date {
  return new Date(seconds * 1000);
}

function codeOf(verify: () => void): { code: string; extra: unknown } {
  try {
    verify();
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, extra: error.extra };
    throw error;
  }
  return { code: 'none', extra: {} };
}

describe('request signatures', () => {
  it('derive the key of the vectors', () => {
    expect(Buffer.from(key).toString('hex')).toBe(vectors.keyHex);
  });

  it('use another key for another cluster or token', () => {
    expect(deriveHmacKey(new Secret(vectors.token), 'c-0000000000000000')).not.toEqual(key);
    expect(deriveHmacKey(new Secret(`${vectors.token}x`), vectors.clusterId)).not.toEqual(key);
  });

  it.each(vectors.cases)('sign and verify: $name', ({ method, path, t, body, header }) => {
    expect(signRequest({ key, method, path, body, at: at(t) })).toBe(header);
    verifyRequestSignature({ header, key, method, path, body, now: at(t) });
  });

  it.each([
    ['another method', { method: 'PUT' }],
    ['another path', { path: '/api/agent/jobs/j-2/status' }],
    ['a query added', { path: `${sample.path}?x=1` }],
    ['another body', { body: { phase: 'Ready' } }],
    ['no body', { body: undefined }],
    ['another key', { key: new Uint8Array(32) }],
    ['another time', { header: sample.header.replace(String(sample.t), String(sample.t + 1)) }],
    ['no header', { header: undefined }],
    ['an empty header', { header: '' }],
    ['another version', { header: sample.header.replace('v1', 'v2') }],
    ['a short MAC', { header: sample.header.slice(0, -1) }],
    ['padding', { header: `${sample.header}=` }],
    ['white space', { header: ` ${sample.header}` }],
    ['a time with a leading zero', { header: sample.header.replace('t=', 't=0') }],
    ['a negative time', { header: sample.header.replace('t=', 't=-') }],
  ])('refuse %s', (_name, change) => {
    const request = { ...sample, body: sample.body, key, now: at(sample.t), ...change };
    expect(codeOf(() => verifyRequestSignature(request)).code).toBe('invalid_signature');
  });

  it('refuse the other spellings of the last character of a MAC', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = alphabet.indexOf(sample.header.at(-1)!);
    for (let other = last + 1; other < (last & ~3) + 4; other += 1) {
      const header = sample.header.slice(0, -1) + alphabet[other];
      const request = { ...sample, body: sample.body, key, header, now: at(sample.t) };
      expect(codeOf(() => verifyRequestSignature(request)).code).toBe('invalid_signature');
    }
  });

  it.each([-300, 0, 300])('take a time that is %i s off', (seconds) => {
    const request = { ...sample, body: sample.body, key, now: at(sample.t + seconds) };
    expect(codeOf(() => verifyRequestSignature(request)).code).toBe('none');
  });

  it.each([-301, 301, 86_400])('refuse a time that is %i s off and say what the time is', (seconds) => {
    const now = at(sample.t + seconds);
    const verify = () => verifyRequestSignature({ ...sample, body: sample.body, key, now });
    expect(codeOf(verify)).toEqual({ code: 'clock_skew', extra: { serverTime: now.toISOString() } });
  });
});
