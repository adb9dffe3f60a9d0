import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../conformance/http-client.ts';
import { BadInputStage, type Endpoint } from './bad-input-stage.ts';
import { otherType, pointersOf, SPOILERS, valueAt, withValue } from './bad-json.ts';

const ENDPOINTS = ['register', 'events', 'status', 'result', 'rotate', 'recover'];

let stage: BadInputStage;
let before: string;

beforeAll(async () => {
  stage = await BadInputStage.start();
  before = stage.rows();
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

function endpoint(name: string): Endpoint {
  const found = stage.endpoints.find((one) => one.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

/** The refusal that names the place of the fault, or what is in it. */
function expectFaultAt(answer: Answer, pointer: string): void {
  const body = answer.json as { error: string; faults?: { path: string }[] };
  expect(`${answer.status} ${body.error}`, answer.text).toBe('400 constraint_violated');
  const paths = body.faults?.map(({ path }) => path) ?? [];
  expect(
    paths.some((path) => path === pointer || path.startsWith(`${pointer}/`)),
    `${pointer} in ${paths.join()}`,
  ).toBe(true);
}

function expectNothingRecorded(): void {
  expect(stage.rows()).toBe(before);
}

describe.each(ENDPOINTS)('bad input to %s', (name) => {
  it('is refused by the name of a field that is of another type', async () => {
    const { body } = endpoint(name);
    const case_ = fc
      .constantFrom(...pointersOf(body))
      .chain((pointer) => fc.tuple(fc.constant(pointer), otherType(valueAt(body, pointer))));
    await fc.assert(
      fc.asyncProperty(case_, async ([pointer, value]) => {
        const changed = withValue(body, pointer, value);
        expectFaultAt(await stage.post(endpoint(name), { body: changed }), pointer);
      }),
      { numRuns: 60 },
    );
    expectNothingRecorded();
  });

  it('is refused by the name of a field that is missing, empty or too long', async () => {
    const { body, required, longest } = endpoint(name);
    for (const pointer of required) {
      expectFaultAt(await stage.post(endpoint(name), { body: withValue(body, pointer, undefined) }), pointer);
    }
    for (const [pointer, length] of Object.entries(longest)) {
      const changed = withValue(body, pointer, 'x'.repeat(length + 1));
      expectFaultAt(await stage.post(endpoint(name), { body: changed }), pointer);
    }
    expectNothingRecorded();
  });

  it('is refused when it is not an object', async () => {
    for (const text of ['[]', 'null', '"text"', '1', 'true']) {
      const answer = await stage.post(endpoint(name), { body: JSON.parse(text), text });
      const { error } = answer.json as { error: string };
      expect(`${answer.status} ${error}`, `${text}: ${answer.text}`).toBe('400 constraint_violated');
    }
    expectNothingRecorded();
  });

  it('is refused before anything looks at it where readers would differ on it, or could not read it', async () => {
    const json = JSON.stringify(endpoint(name).body);
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (at) => {
        for (const [spoiler, spoil] of Object.entries(SPOILERS)) {
          const answer = await stage.post(endpoint(name), { body: {}, text: spoil(json, at) });
          const { error } = answer.json as { error: string };
          expect(`${answer.status} ${error}`, `${spoiler}: ${answer.text}`).toBe('400 invalid_body');
        }
      }),
      { numRuns: 4 },
    );
    expectNothingRecorded();
  });

  it('is refused over 1 MiB, and in any other media type or encoding', async () => {
    const { body } = endpoint(name);
    const padded = { ...body, padding: 'x'.repeat(1_100_000) };
    const refusals: [string, Answer][] = [
      ['413 payload_too_large', await stage.post(endpoint(name), { body: padded })],
      [
        '415 unsupported_media_type',
        await stage.post(endpoint(name), { body, headers: { 'content-type': 'text/xml' } }),
      ],
      ['415 unsupported_media_type', await stage.post(endpoint(name), { body, headers: { 'content-type': '' } })],
      ['406 not_acceptable', await stage.post(endpoint(name), { body, headers: { accept: 'text/html' } })],
    ];
    for (const [expected, answer] of refusals) {
      expect(`${answer.status} ${(answer.json as { error: string }).error}`, answer.text).toBe(expected);
    }
    expectNothingRecorded();
  });
});

describe('a query', () => {
  it.each(['jobs', 'config'])('of %s is refused by the name of what is wrong', async (name) => {
    const cluster = name === 'jobs' ? `cluster=${stage.agent.id}&` : '';
    const waits = fc.oneof(
      fc.integer({ min: 301 }),
      fc.integer({ max: -1 }),
      fc.double({ noInteger: true }),
      fc.string({ unit: 'grapheme' }).filter((text) => !/^\d{1,15}$/.test(text)),
      fc.constantFrom('1e2', '0x10', ' 1', '1 ', '9'.repeat(400), '١'),
    );
    await fc.assert(
      fc.asyncProperty(waits, async (wait) => {
        const path = `/api/agent/${name}?${cluster}wait=${encodeURIComponent(String(wait).toWellFormed())}`;
        expectFaultAt(await stage.agent.get(path), '/wait');
      }),
      { numRuns: 60 },
    );
    expectFaultAt(await stage.agent.get(`/api/agent/${name}?${cluster}wait=0&wait=0`), '/wait');
    expectNothingRecorded();
  });

  it('of jobs must name the cluster once', async () => {
    const { id } = stage.agent;
    expectFaultAt(await stage.agent.get('/api/agent/jobs?wait=0'), '/cluster');
    expectFaultAt(await stage.agent.get(`/api/agent/jobs?cluster=${id}&cluster=${id}&wait=0`), '/cluster');
  });
});
