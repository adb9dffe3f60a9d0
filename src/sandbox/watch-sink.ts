import type { ServerResponse } from 'node:http';
import type { WatchSink } from './watch.ts';

/** JSON of objects that go to many watchers is made once. */
const encoded = new WeakMap<object, string>();

function encode(object: unknown): string {
  if (typeof object !== 'object' || object === null) return JSON.stringify(object);
  let text = encoded.get(object);
  if (text === undefined) {
    text = JSON.stringify(object);
    encoded.set(object, text);
  }
  return text;
}

/**
 * Writes watch events, one JSON object a line.
 *
 * @param limitBytes what may wait for a slow client before it is cut
 */
export function watchSink(response: ServerResponse, limitBytes: number): WatchSink {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
  response.flushHeaders();
  return {
    send: ({ type, object }) => {
      if (response.writableEnded || response.destroyed) return false;
      response.write(`{"type":"${type}","object":${encode(object)}}\n`);
      return response.writableLength <= limitBytes;
    },
    end: () => {
      if (response.writableLength > limitBytes) response.destroy();
      else response.end();
    },
  };
}
