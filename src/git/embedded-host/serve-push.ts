import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { BackendEnd } from './http-backend.ts';
import { pushReport } from './push-report.ts';
import { MalformedPushError, readPushRequest } from './push-request.ts';
import { receivePush, type ReceivePushDeps } from './receive-push.ts';
import { BodyTooLargeError, RequestBody } from './request-body.ts';

/** Answers one `POST git-receive-pack`. What became of the push is in the answer's body, as git's protocol has it. */
export async function servePush(deps: {
  readonly body: Readable;
  readonly response: ServerResponse;
  readonly gzip: boolean;
  readonly push: ReceivePushDeps;
}): Promise<BackendEnd> {
  const { signal, maxPackBytes } = deps.push;
  const body = new RequestBody({ source: deps.body, gzip: deps.gzip, maxBytes: maxPackBytes, signal });
  let report: Buffer;
  try {
    const request = await readPushRequest(body);
    // Before a long push git asks with an empty one whether it may.
    const outcome = request.commands.length === 0 ? undefined : await receivePush(deps.push, request, body);
    await body.drain();
    report = outcome === undefined ? Buffer.alloc(0) : pushReport(request, outcome);
  } catch (error) {
    if (signal.aborted) return { state: 'aborted', detail: String(signal.reason) };
    if (error instanceof BodyTooLargeError) return { state: 'body-too-large', detail: error.message };
    if (error instanceof MalformedPushError || isZlibError(error)) return { state: 'malformed', detail: String(error) };
    throw error;
  }
  deps.response.writeHead(200, {
    'content-type': 'application/x-git-receive-pack-result',
    'content-length': report.length,
    'cache-control': 'no-cache',
  });
  deps.response.write(report);
  return { state: 'answered', status: 200 };
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}
