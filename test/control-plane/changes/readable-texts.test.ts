import { once } from 'node:events';
import { expect, test } from 'vitest';
import { readableTexts } from '../../../src/control-plane/changes/readable-texts.ts';
import { ManualClock } from '../../support/manual-clock.ts';

async function* endless(made: { count: number }): AsyncGenerator<string> {
  for (;;) {
    made.count += 1;
    yield 'x'.repeat(1024);
  }
}

test('makes no more than there is room for, and ends when nobody takes it', async () => {
  const clock = new ManualClock();
  const made = { count: 0 };
  const body = readableTexts(endless(made), clock);
  await once(body, 'readable');
  await expect.poll(() => made.count).toBe(16);
  await expect.poll(() => clock.sleeping).toBe(1);
  clock.advance(29_999);
  expect(body.destroyed).toBe(false);
  clock.advance(1);
  await once(body, 'close');
  expect(made.count).toBeLessThan(20);
});

test('goes on for somebody who takes it slowly', async () => {
  const clock = new ManualClock();
  const made = { count: 0 };
  const body = readableTexts(endless(made), clock);
  body.on('readable', () => undefined);
  for (let read = 0; read < 5; read += 1) {
    await expect.poll(() => clock.sleeping).toBe(1);
    clock.advance(20_000);
    const before = made.count;
    expect(body.read()).not.toBeNull();
    await expect.poll(() => made.count).toBeGreaterThan(before);
  }
  expect(body.destroyed).toBe(false);
  body.destroy();
});
