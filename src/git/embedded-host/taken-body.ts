import { randomUUID } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Clock } from '../../runtime/clock.ts';
import type { BackendEnd } from './http-backend.ts';
import { BodyTooLargeError, RequestBody } from './request-body.ts';

/** The body does not come, or only in drops. */
export class SlowBodyError extends Error {
  constructor() {
    super(`less than ${MIN_BYTES} bytes of the body came within ${PACE_MS / 1000} seconds`);
    this.name = 'SlowBodyError';
  }
}

/** A body that is in, to be read once. */
export interface TakenBody extends AsyncDisposable {
  readonly stream: Readable;
}

const PACE_MS = 10_000;
const MIN_BYTES = 4096;
/** Kept in memory; what is larger goes to a file. */
const MEMORY_BYTES = 64 * 1024;

/**
 * Takes a request's body in before anything is spent on it: a client that sends slowly, or never ends, holds its
 * connection and nothing else. The file has no name any more once it is open, so a crash leaves nothing behind.
 *
 * @throws {BodyTooLargeError | SlowBodyError} and when the signal is aborted
 */
export async function takeBody(deps: {
  readonly request: IncomingMessage;
  readonly maxBytes: number;
  /** Where a large one is put. */
  readonly folder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): Promise<TakenBody> {
  const slow = new AbortController();
  const isIn = new AbortController();
  const signal = AbortSignal.any([deps.signal, slow.signal]);
  const progress = { bytes: 0 };
  const watching = watchPace(progress, deps.clock, isIn.signal).then((isSlow) => {
    if (isSlow) slow.abort(new SlowBodyError());
  });
  try {
    const body = new RequestBody({ source: deps.request, gzip: false, maxBytes: deps.maxBytes, signal });
    return await collect(body, progress, deps.folder);
  } catch (error) {
    throw slow.signal.aborted && !deps.signal.aborted ? slow.signal.reason : error;
  } finally {
    isIn.abort();
    await watching;
  }
}

/** How a request ends whose body was not taken; undefined for a fault of our own. */
export function refusedBody(error: unknown): BackendEnd | undefined {
  if (error instanceof BodyTooLargeError) return { state: 'body-too-large', detail: error.message };
  return error instanceof SlowBodyError ? { state: 'too-slow', detail: error.message } : undefined;
}

async function collect(body: RequestBody, progress: { bytes: number }, folder: string): Promise<TakenBody> {
  const chunks: Buffer[] = [];
  let file: FileHandle | undefined;
  try {
    for await (const chunk of body) {
      progress.bytes += chunk.length;
      if (progress.bytes > MEMORY_BYTES) file ??= await openNameless(folder);
      chunks.push(chunk);
      if (file !== undefined) for (const part of chunks.splice(0)) await file.appendFile(part);
    }
  } catch (error) {
    await file?.close();
    throw error;
  }
  const stream =
    file === undefined
      ? Readable.from(chunks, { objectMode: false })
      : file.createReadStream({ start: 0, autoClose: false });
  // Whoever reads it hears of a fault; nobody reads it any more where it is put away half read.
  stream.on('error', () => undefined);
  return {
    stream,
    [Symbol.asyncDispose]: async () => {
      stream.destroy();
      await file?.close();
    },
  };
}

async function openNameless(folder: string): Promise<FileHandle> {
  const path = join(folder, `tmp_body-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await rm(path);
  return file;
}

/** Whether it came too slowly before it was in. */
async function watchPace(progress: { readonly bytes: number }, clock: Clock, isIn: AbortSignal): Promise<boolean> {
  for (let before = 0; ; before = progress.bytes) {
    try {
      await clock.sleep(PACE_MS, isIn);
    } catch (error) {
      if (isIn.aborted) return false;
      throw error;
    }
    if (isIn.aborted) return false;
    if (progress.bytes - before < MIN_BYTES) return true;
  }
}
