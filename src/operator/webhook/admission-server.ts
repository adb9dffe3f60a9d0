import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { AppError } from '../../protocol/app-error.ts';
import { Reason } from '../../resources/reasons.ts';
import type { Logger } from '../../runtime/logger.ts';
import { CONNECTION_LIMITS, requestLimits, type ConnectionLimits } from '../connection-limits.ts';
import { parseReview, reviewOf, type AdmissionRequest, type ReviewAnswer } from './admission-review.ts';
import type { CertifiedKey } from './webhook-certificate.ts';

export interface AdmissionServerDeps {
  readonly judge: (request: AdmissionRequest) => Promise<ReviewAnswer>;
  readonly logger: Logger;
  readonly limits?: ConnectionLimits;
}

export const ADMISSION_PATHS: readonly string[] = ['/admission/applicationinstances', '/admission/operations'];

/** A review holds an object twice, and an object is at most 1.5 MiB. */
export const MAX_REVIEW_BYTES = 4 * 1024 * 1024;
/** Read and judged at once; what they hold together is what the reviews may take of memory. */
export const MAX_REVIEWS = 8;
export const MAX_WAITING = 64;
const MAX_LOGGED = 2000;
const OF_APPROVALS: readonly string[] = [Reason.ApprovalMissing, Reason.ApprovalInvalid, Reason.ApprovalUsed];
/** Longer than the API server keeps an idle connection, so that no review meets one that is just being closed. */
const KEEP_ALIVE_MS = 120_000;

/** The answer to a review that cannot be judged; the API server then goes by failurePolicy, and that admits. */
class Unanswerable extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Answers AdmissionReviews over TLS, on connections that it is handed. */
export class AdmissionServer {
  readonly server: Server;
  readonly #deps: AdmissionServerDeps;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  #hasCertificate = false;
  readonly #counts = { allowed: 0, refused: 0, unanswered: 0 };

  constructor(deps: AdmissionServerDeps) {
    this.#deps = deps;
    const { limits = CONNECTION_LIMITS } = deps;
    const times = { ...requestLimits(limits), handshakeTimeout: limits.handshakeMs, keepAliveTimeout: KEEP_ALIVE_MS };
    this.server = createServer(
      { minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'], ...times },
      (request, response) => {
        void this.#answer(request, response);
      },
    );
    this.server.on('tlsClientError', (error, socket) => {
      deps.logger.debug({ problem: error.message }, 'a TLS connection to the webhook failed');
      socket.destroy();
    });
  }

  /** Before the first certificate there is nothing to shake hands with. */
  get hasCertificate(): boolean {
    return this.#hasCertificate;
  }

  /** Answers so far, by what they were. */
  get counts(): Readonly<Record<'allowed' | 'refused' | 'unanswered', number>> {
    return this.#counts;
  }

  /** From now on for new connections; those that are open go on. */
  serve({ certificate, key }: CertifiedKey): void {
    this.server.setSecureContext({ cert: certificate, key: key.expose(), minVersion: 'TLSv1.2' });
    this.#hasCertificate = true;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await this.#review(request);
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    } catch (error) {
      this.#counts.unanswered += 1;
      const known = error instanceof Unanswerable;
      if (!known) this.#deps.logger.error({ err: error }, 'a review could not be judged');
      const text = known ? error.message : 'the review could not be judged';
      // What was not read of the body is not waited for.
      const headers = { 'content-type': 'text/plain; charset=utf-8', connection: 'close' };
      response.writeHead(known ? error.status : 500, headers).end(`${text}\n`, () => request.destroy());
    }
  }

  async #review(request: IncomingMessage): Promise<string> {
    const path = (request.url ?? '').replace(/\?.*$/, '');
    if (!ADMISSION_PATHS.includes(path)) throw new Unanswerable(404, `here are ${ADMISSION_PATHS.join(' and ')}`);
    if (request.method !== 'POST') throw new Unanswerable(405, 'an AdmissionReview is posted');
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) {
      throw new Unanswerable(415, 'an AdmissionReview is application/json');
    }
    if (Number(request.headers['content-length'] ?? 0) > MAX_REVIEW_BYTES) throw tooLarge();
    using _slot = await this.#slot();
    const asked = readReview(await readBody(request));
    const answer = await this.#deps.judge(asked);
    this.#counts[answer.allowed ? 'allowed' : 'refused'] += 1;
    this.#tellOfApproval(asked, answer);
    return JSON.stringify(reviewOf(asked.uid, answer));
  }

  /** The control plane never hears of such a write, and a statement that is forged or used again is somebody's try. */
  #tellOfApproval({ resource, operation, namespace, name, userInfo }: AdmissionRequest, answer: ReviewAnswer): void {
    const { allowed, reasons = [], message = '' } = answer;
    if (allowed || !reasons.some((reason) => OF_APPROVALS.includes(reason))) return;
    const about = { user: userInfo.username ?? '', operation, resource: resource.resource, namespace, name };
    this.#deps.logger.warn({ ...about, reasons, problem: message.slice(0, MAX_LOGGED) }, 'a write lacks its approval');
  }

  async #slot(): Promise<Disposable> {
    if (this.#running >= MAX_REVIEWS) {
      if (this.#waiting.length >= MAX_WAITING) throw new Unanswerable(503, 'too many reviews at once');
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running += 1;
    return {
      [Symbol.dispose]: () => {
        const next = this.#waiting.shift();
        // The slot goes on to who waited longest.
        if (next === undefined) this.#running -= 1;
        else next();
      },
    };
  }
}

function tooLarge(): Unanswerable {
  return new Unanswerable(413, `a review is at most ${MAX_REVIEW_BYTES} bytes`);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > MAX_REVIEW_BYTES) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof Unanswerable) throw error;
    throw new Unanswerable(400, 'the review ended before its end');
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readReview(text: string): AdmissionRequest {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Unanswerable(400, 'the body is not JSON; an AdmissionReview of admission.k8s.io/v1 is expected');
  }
  try {
    return parseReview(body);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new Unanswerable(400, `not an AdmissionReview of admission.k8s.io/v1: ${error.message}`);
  }
}
