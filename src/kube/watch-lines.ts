import { KubeError } from './cluster-api.ts';
import { ANSWER_TOO_LARGE } from './kube-fault.ts';

const NEWLINE = 0x0a;
/** An object is at most 1.5 MiB in etcd; with managed fields and JSON's escapes an event stays far below this. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Splits a byte stream into lines. Only whole lines are decoded, so neither a chunk's border nor a character of
 * several bytes can break one; what follows the last newline was cut off and is dropped.
 */
export async function* watchLines(body: AsyncIterable<Uint8Array>, where: string): AsyncIterable<string> {
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      const line = Buffer.concat(parts).toString('utf8');
      parts = [];
      size = 0;
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (start < chunk.length) {
      parts.push(chunk.subarray(start));
      size += chunk.length - start;
    }
    if (size > MAX_LINE_BYTES) {
      throw new KubeError(`${where}: a line of the watch is longer than ${MAX_LINE_BYTES} bytes`, {
        status: 0,
        reason: ANSWER_TOO_LARGE,
      });
    }
  }
}
