import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CHECK_LIMIT_MS, checkText, ValuesChecker } from '../../src/control-plane/values-checker.ts';
import { CheckLimitClock } from '../support/check-limit-clock.ts';

const CATASTROPHE = { properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
/** Takes longer than the test may. */
const ENDLESS = checkText({ schema: CATASTROPHE, values: { a: `${'a'.repeat(60)}!` }, isWhole: true, isNew: false });
const QUICK = checkText({ schema: CATASTROPHE, values: { a: 'b' }, isWhole: true, isNew: false });
const REFUSED = { state: 'judged', faults: [expect.objectContaining({ path: '/values/a' })] };

let clock: CheckLimitClock;
let checker: ValuesChecker;

beforeEach(() => {
  clock = new CheckLimitClock();
  checker = new ValuesChecker({ clock });
});
afterEach(async () => await checker[Symbol.asyncDispose]());

async function running(count: number): Promise<void> {
  await expect.poll(() => clock.held, { timeout: 10_000, interval: 2 }).toBe(count);
}

describe('ValuesChecker', () => {
  it('answers one organization while the check of another does not end, and ends that at its limit', async () => {
    const endless = checker.check('one', ENDLESS);
    await running(1);
    await expect(checker.check('two', QUICK)).resolves.toEqual(REFUSED);
    clock.passLimit();
    await expect(endless).resolves.toEqual({ state: 'late', limitMs: CHECK_LIMIT_MS });
    await expect(checker.check('one', QUICK)).resolves.toEqual(REFUSED);
  });

  it('lets an organization have one check at a time, so that many endless ones hold up its own only', async () => {
    const endless = [checker.check('one', ENDLESS), checker.check('one', ENDLESS), checker.check('one', ENDLESS)];
    await running(1);
    await expect(checker.check('two', QUICK)).resolves.toEqual(REFUSED);
    await expect(checker.check('three', QUICK)).resolves.toEqual(REFUSED);
    expect(clock.held).toBe(1);
    for (const each of endless) {
      await running(1);
      clock.passLimit();
      await expect(each).resolves.toMatchObject({ state: 'late' });
    }
  });

  it('takes no more of an organization than 16 that wait, and none of the others for it', async () => {
    const endless = Array.from({ length: 17 }, async () => await checker.check('one', ENDLESS));
    const ends = Promise.allSettled(endless);
    await expect(checker.check('one', QUICK)).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
    await expect(checker.check('two', QUICK)).resolves.toEqual(REFUSED);
    await checker[Symbol.asyncDispose]();
    expect((await ends).map(({ status }) => status)).toEqual(Array.from({ length: 17 }, () => 'rejected'));
  });

  it('ends what runs and refuses what waits when the program stops', async () => {
    const ends = Promise.allSettled([checker.check('one', ENDLESS), checker.check('one', QUICK)]);
    await running(1);
    await checker[Symbol.asyncDispose]();
    const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'unavailable' }) };
    expect(await ends).toEqual([refused, refused]);
    await expect(checker.check('two', QUICK)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('says of a schema that cannot be applied that it goes too deep, and goes on', async () => {
    const text = checkText({ schema: { $ref: '#' }, values: {}, isWhole: true, isNew: false });
    await expect(checker.check('one', text)).resolves.toEqual({ state: 'failed', why: 'it goes too deep' });
    await expect(checker.check('one', QUICK)).resolves.toEqual(REFUSED);
  });
});
