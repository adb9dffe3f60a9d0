import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { GithubHost } from '../../../src/delivery/gitops/proposal-hosts/github.ts';
import { HostPaused } from '../../../src/delivery/gitops/proposal-hosts/host-client.ts';
import { HostPauses } from '../../../src/delivery/gitops/proposal-hosts/host-pauses.ts';
import { FakeGitHost, TOKEN, type ApiAnswer } from '../../support/git-hosts/fake-host.ts';
import { githubShape } from '../../support/git-hosts/github-shape.ts';
import { apiOf } from './host-api.ts';

const stop = new AbortController().signal;

async function start(answer: () => ApiAnswer | undefined) {
  const fake = await FakeGitHost.start(githubShape);
  onTestFinished(async () => await fake[Symbol.asyncDispose]());
  const time = { now: Date.UTC(2026, 5, 1) };
  const clock = { now: () => new Date(time.now), sleep: async () => undefined };
  const pauses = new HostPauses({ clock });
  fake.intercept = answer;
  return { fake, time, pauses, host: new GithubHost(apiOf(fake, { clock, pauses })), clock };
}

async function failure(work: Promise<unknown>): Promise<Error> {
  const error: unknown = await work.then(
    () => new Error('it succeeded'),
    (thrown: unknown) => thrown,
  );
  return error as Error;
}

test.each<[string, ApiAnswer, number]>([
  ['429 with seconds', { status: 429, headers: { 'retry-after': '120' } }, 120_000],
  ['429 with a date', { status: 429, headers: { 'retry-after': 'Mon, 01 Jun 2026 00:05:00 GMT' } }, 300_000],
  ['429 without a time', { status: 429 }, 60_000],
  [
    '403 of a used-up limit',
    {
      status: 403,
      headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Date.UTC(2026, 5, 1) / 1000 + 90) },
    },
    90_000,
  ],
  ['403 of a secondary limit', { status: 403, body: { message: 'You have exceeded a secondary rate limit.' } }, 60_000],
  ['429 with days', { status: 429, headers: { 'retry-after': '999999' } }, 3_600_000],
])('%s: the host is left alone for that long, by every repository on it', async (_what, answer, ms) => {
  const { fake, host, pauses, clock, time } = await start(() => answer);
  const limited = await failure(host.find(1, stop));
  expect(limited).toBeInstanceOf(HostPaused);
  expect((limited as HostPaused).leftMs).toBe(ms);
  // Another repository of the same host: nothing is sent.
  const other = new GithubHost(apiOf(fake, { name: 'other', clock, pauses }));
  expect(await failure(other.find(1, stop))).toBeInstanceOf(HostPaused);
  expect(fake.calls).toHaveLength(1);
  time.now += ms;
  fake.intercept = () => ({ status: 404, body: {} });
  await failure(host.find(1, stop));
  expect(fake.calls.length).toBeGreaterThan(1);
});

test('repeats a read that failed, and does not repeat what writes', async () => {
  const { fake, host } = await start(() => ({ status: 503, body: { message: 'Unicorn!' } }));
  expect(await failure(host.find(1, stop))).toMatchObject({
    kind: 'unavailable',
    message: 'GitHub failed (503: Unicorn!)',
  });
  expect(fake.calls).toHaveLength(3);
  await failure(host.comment(1, 'hello', stop));
  expect(fake.calls).toHaveLength(4);
});

test('does not take a token along to where the repository has moved, and says where that is', async () => {
  let foreign = 0;
  const elsewhere = createServer((_request, response) => {
    foreign += 1;
    response.end();
  });
  const listening = Promise.withResolvers<undefined>();
  elsewhere.listen(0, '127.0.0.1', () => listening.resolve(undefined));
  await listening.promise;
  onTestFinished(() => void elsewhere.close());
  const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/repositories/1/pulls/1?token=x`;
  const { host } = await start(() => ({ status: 301, headers: { location } }));
  const error = await failure(host.find(1, stop));
  expect(error).toMatchObject({ kind: 'forbidden' });
  expect(error.message).toContain(`has moved to ${location.replace('?token=x', '')}`);
  expect(foreign).toBe(0);
});

test('an answer without end is cut off', async () => {
  const { fake, host } = await start(() => ({ status: 200, body: { filler: 'x'.repeat(9 * 1024 * 1024) } }));
  expect(await failure(host.find(1, stop))).toMatchObject({
    kind: 'unavailable',
    message: 'an answer has more than 8 MiB',
  });
  expect(fake.calls).toHaveLength(3);
});

test('a page of a proxy in place of an answer is a fault that may pass', async () => {
  const { host } = await start(() => ({ status: 200, body: '<html>' }));
  expect(await failure(host.find(1, stop))).toMatchObject({ kind: 'unavailable' });
});

test('says which permission is missing, and never the credential', async () => {
  const { host } = await start(() => ({
    status: 403,
    body: { message: 'Resource not accessible by personal access token' },
    headers: { 'x-accepted-github-permissions': 'pull_requests=write' },
  }));
  const error = await failure(host.comment(1, 'hello', stop));
  expect(error).toMatchObject({ kind: 'forbidden' });
  expect(error.message).toContain('pull_requests=write');
  expect(error.message).toContain('Pull requests: read and write');
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error.stack)).not.toContain(TOKEN);
});

test('a host that cannot be reached is told by its code alone', async () => {
  const { fake, host } = await start(() => undefined);
  await fake[Symbol.asyncDispose]();
  expect(await failure(host.find(1, stop))).toMatchObject({
    kind: 'unavailable',
    message: 'GitHub cannot be reached (ECONNREFUSED)',
  });
});

test('gives the reason of an abort, whatever the host does', async () => {
  const { host } = await start(() => undefined);
  const aborted = AbortSignal.abort(new Error('stopping'));
  expect(await failure(host.find(1, aborted))).toMatchObject({ message: 'stopping' });
});

test('writes to GitHub a second apart, whatever they are about, and reads without waiting', async () => {
  const { fake, pauses } = await start(() => ({ status: 201, body: {} }));
  const slept: number[] = [];
  const clock = { now: () => new Date(Date.UTC(2026, 5, 1)), sleep: async (ms: number) => void slept.push(ms) };
  const one = new GithubHost(apiOf(fake, { clock, pauses }));
  const other = new GithubHost(apiOf(fake, { clock, pauses, name: 'other' }));
  for (const host of [one, other, one]) await host.comment(1, 'hello', stop);
  expect(slept).toEqual([1000, 2000]);
});
