import { expect, it } from 'vitest';
import { BodyTooLongError, readBounded } from '../../src/runtime/read-bounded.ts';

/** A body without end, and how much of it was asked for. */
function endless(): { readonly response: Response; readonly sent: () => number; readonly isCancelled: () => boolean } {
  let sent = 0;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      sent += 1000;
      controller.enqueue(new Uint8Array(1000));
    },
    cancel: () => {
      cancelled = true;
    },
  });
  return { response: new Response(body), sent: () => sent, isCancelled: () => cancelled };
}

it('reads a body to its last byte, as long as it is allowed to be', async () => {
  expect((await readBounded(new Response('abcd'), 4)).toString()).toBe('abcd');
  expect((await readBounded(new Response(null), 4)).length).toBe(0);
});

it('reads hardly more of a body without end than it may, and lets it go', async () => {
  const { response, sent, isCancelled } = endless();
  await expect(readBounded(response, 2500)).rejects.toThrow(new BodyTooLongError(2500));
  expect(sent()).toBeLessThan(6000);
  expect(isCancelled()).toBe(true);
});
