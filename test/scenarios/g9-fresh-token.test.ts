import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { apply, uninstall } from '../delivery/gitops/write/rendered-intent.ts';
import {
  deliver,
  delivered,
  instantClock,
  onServer,
  startAcme,
  subjects,
  writerOn,
} from '../delivery/gitops/write/writer.ts';

it('G9: a fresh token that answers 404 is waited for, and the repository is not taken for gone', async () => {
  await using server = await startAcme();
  const mirrorPath = join(server.folder, 'mirror.git');
  await using first = writerOn(server, { mirrorPath });
  await delivered(first, [apply({ name: 'before' })]);
  await first[Symbol.asyncDispose]();
  const mirror = (await stat(mirrorPath)).ino;
  const clock = instantClock();
  await using delivery = writerOn(server, { clock, mirrorPath });
  let left = 3;
  server.intercept = () => {
    left -= 1;
    return left >= 0 ? 404 : undefined;
  };
  await delivered(delivery, [apply({})]);
  expect(clock.waits.length).toBe(3);
  expect(await subjects(server)).toEqual(['prod-eu: install shop/before 6.5.0', 'prod-eu: install shop/podinfo 6.5.0']);
  expect((await stat(mirrorPath)).ino).toBe(mirror);
});

it('G9: a token that stays unknown is told as “not active yet”, to be tried again; nothing is deleted', async () => {
  await using server = await startAcme();
  const mirrorPath = join(server.folder, 'mirror.git');
  await using delivery = writerOn(server, { mirrorPath });
  await delivered(delivery, [apply({})]);
  const tip = await onServer(server, 'rev-parse', 'main');
  server.intercept = () => 404;
  const receipts = await deliver(delivery, [uninstall({ generation: 2 }), apply({ name: 'other' })]);
  expect(receipts.map(({ state }) => state)).toEqual(['retry', 'retry']);
  for (const receipt of receipts) {
    expect(receipt.state === 'retry' && receipt.message).toMatch(/not active yet/);
  }
  await expect(delivery.observe(['clusters/prod-eu'], AbortSignal.timeout(5000))).rejects.toThrow(/404/);
  server.intercept = undefined;
  expect(await onServer(server, 'rev-parse', 'main')).toBe(tip);
  const observed = await delivery.observe(['clusters/prod-eu'], AbortSignal.timeout(5000));
  expect([...observed.keys()]).toEqual(['clusters/prod-eu']);
});
