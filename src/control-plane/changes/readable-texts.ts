import { Readable } from 'node:stream';
import type { Clock } from '../../runtime/clock.ts';

/** A client that takes nothing for so long is ended: what waits for it is not kept for ever. */
const STUCK_MS = 30_000;
/** Bytes that may wait for a client, besides what the system holds of its connection. */
const BUFFER_BYTES = 16_384;

/** A body out of texts, each made when there is room for it. It ends with them, or when nobody takes them. */
export function readableTexts(texts: AsyncGenerator<string>, clock: Clock): Readable {
  const body = Readable.from(watched(), { objectMode: false, highWaterMark: BUFFER_BYTES });
  return body;

  async function* watched(): AsyncGenerator<string> {
    for await (const text of texts) {
      const taken = new AbortController();
      clock.sleep(STUCK_MS, taken.signal).then(
        () => body.destroy(),
        () => undefined,
      );
      try {
        yield text;
      } finally {
        taken.abort(new Error('it was taken'));
      }
    }
  }
}
