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

/** Status and code, with what was tried. */
function refusalOf(answer: Answer, tried = ''): { readonly refusal: string; readonly tried: string } {
  const { error } = answer.json as { error: string };
  return { refusal: `${answer.status} ${error}`, tried };
}

/** The refusal that names the place of the fault, or what is in it. */
function expectFaultAt(answer: Answer, pointer: string): void {
  expect(refusalOf(answer, pointer)).toEqual({ refusal: '400 constraint_violated', tried: pointer });
  const { faults = [] } = answer.json as { faults?: { path: string }[] };
  const named = faults.filter(({ path }) => path === pointer || path.startsWith(`${pointer}/`));
  expect(named).not.toEqual([]);
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
    expect(stage.rows()).toBe(before);
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
    expect(stage.rows()).toBe(before);
  });

  it('is refused when it is not an object', async () => {
    for (const text of ['[]', 'null', '"text"', '1', 'true']) {
      const answer = await stage.post(endpoint(name), { body: JSON.parse(text), text });
      expect(refusalOf(answer, text)).toEqual({ refusal: '400 constraint_violated', tried: text });
    }
    expect(stage.rows()).toBe(before);
  });

  it('is refused before anything looks at it where readers would differ on it, or could not read it', async () => {
    const json = JSON.stringify(endpoint(name).body);
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (at) => {
        for (const [spoiler, spoil] of Object.entries(SPOILERS)) {
          const answer = await stage.post(endpoint(name), { body: {}, text: spoil(json, at) });
          expect(refusalOf(answer, spoiler)).toEqual({ refusal: '400 invalid_body', tried: spoiler });
        }
      }),
      { numRuns: 4 },
    );
    expect(stage.rows()).toBe(before);
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
      expect(refusalOf(answer)).toEqual({ refusal: expected, tried: '' });
    }
    expect(stage.rows()).toBe(before);
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
    expect(stage.rows()).toBe(before);
  });

  it('of jobs must name the cluster once', async () => {
    const { id } = stage.agent;
    expectFaultAt(await stage.agent.get('/api/agent/jobs?wait=0'), '/cluster');
    expectFaultAt(await stage.agent.get(`/api/agent/jobs?cluster=${id}&cluster=${id}&wait=0`), '/cluster');
    expect(stage.rows()).toBe(before);
  });
});
