import { createHmac } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import { canonicalJson } from '../../../protocol/canonical-json.ts';
import { refusal } from '../../../protocol/parse.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { MasterKey } from '../../master-key.ts';
import type { Store } from '../../store/open-store.ts';
import { UnknownOutcome } from '../../store/postgres-writes.ts';
import {
  claimRequestKey,
  keepAnswer,
  releaseRequestKey,
  REQUEST_ANSWERS_KEPT_MS,
  type RequestKey,
} from '../../store/request-answers.ts';
import type { RequestAnswerRow } from '../../store/schema.ts';
import type { HttpServer } from '../server.ts';
import { adminOf } from './authenticate.ts';

/** Longer than any request of the admin API is under way. */
const UNDER_WAY_MS = 120_000;
/** A longer answer is not kept, only that it was given. */
const MAX_KEPT_BYTES = 262_144;
/** Has keys of its own, kept with the intent in one transaction. */
const OWN_KEYS = '/clusters/:cluster/intents';

interface KeptAnswer {
  readonly status: number;
  /** Absent: none, or too long. */
  readonly body?: string;
  readonly isTooLong?: boolean;
  readonly location?: string;
}

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  readonly masterKey: Pick<MasterKey, 'seal' | 'open' | 'derive'>;
}

/**
 * A `POST` with an `Idempotency-Key` is carried out once, however often it is sent:
 *
 * ```
 * not known ─► taken, durable ─► carried out ─► answer kept, durable ─► answered     again: the same answer
 *                  │                  └─ refused: the key is free again
 *                  └─ the process ended in here: nobody knows, and it is said so      again: 409, never a second time
 * ```
 */
export function idempotentPosts(scope: HttpServer, deps: Deps): void {
  const { store, clock, masterKey } = deps;
  const taken = new WeakMap<FastifyRequest, RequestKey>();
  /** In this process. */
  const underWay = new Set<string>();
  const doubtful = new WeakSet<FastifyRequest>();

  scope.addHook('preHandler', async (request: FastifyRequest, reply: FastifyReply) => {
    const key = keyOf(request, scope.prefix);
    if (key === undefined) return;
    const now = clock.now().getTime();
    const claim = { ...key, request_hash: hashOf(request, masterKey), created_at: new Date(now).toISOString() };
    const keptSince = new Date(now - REQUEST_ANSWERS_KEPT_MS).toISOString();
    const known = await store.write(async (trx) => await claimRequestKey(trx, claim, keptSince));
    if (known === undefined) {
      taken.set(request, key);
      underWay.add(nameOf(key));
      return;
    }
    if (known.request_hash !== claim.request_hash) {
      throw new AppError(
        'conflict',
        'this Idempotency-Key was used for another request, or by another token; take a new one for each request that is not the same again',
      );
    }
    if (known.answer_sealed === null) throw unanswered(known, now);
    await replay(reply, key, known.answer_sealed);
  });

  scope.addHook('onError', async (request: FastifyRequest, _reply: FastifyReply, error: Error) => {
    if (error instanceof UnknownOutcome) doubtful.add(request);
  });

  scope.addHook('onSend', async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const key = taken.get(request);
    if (key === undefined) return payload;
    taken.delete(request);
    try {
      const { statusCode } = reply;
      // What failed may have been half done, or done: it is not tried again under this key.
      if (!doubtful.has(request) && statusCode !== 500) {
        const sealed = statusCode < 400 ? await sealAnswer(key, reply, payload) : undefined;
        await store.write(async (trx) => {
          if (sealed === undefined) await releaseRequestKey(trx, key);
          else await keepAnswer(trx, key, sealed, clock.now().toISOString());
        });
      }
    } catch (error) {
      // It was done, and is answered. Whoever asks again is told that nobody knows.
      (request.log as Logger).warn({ err: error, requestId: request.id }, 'an answer could not be kept for its key');
    } finally {
      underWay.delete(nameOf(key));
    }
    return payload;
  });

  async function sealAnswer(key: RequestKey, reply: FastifyReply, payload: unknown): Promise<string> {
    const text = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.toString('utf8') : undefined;
    const isTooLong = text !== undefined && Buffer.byteLength(text) > MAX_KEPT_BYTES;
    const location = reply.getHeader('location');
    const kept: KeptAnswer = {
      status: reply.statusCode,
      ...(isTooLong ? { isTooLong } : text === undefined ? {} : { body: text }),
      ...(typeof location === 'string' ? { location } : {}),
    };
    return await masterKey.seal(JSON.stringify(kept), contextOf(key));
  }

  async function replay(reply: FastifyReply, key: RequestKey, sealed: string): Promise<void> {
    const opened = await masterKey.open(sealed, contextOf(key));
    const { status, body, isTooLong, location } = JSON.parse(opened.expose()) as KeptAnswer;
    if (isTooLong === true) {
      throw new AppError(
        'conflict',
        'this was done before; its answer was too long to be kept, so look at what it made',
      );
    }
    reply.code(status).header('idempotent-replayed', 'true');
    if (location !== undefined) reply.header('location', location);
    if (body !== undefined) reply.header('content-type', 'application/json');
    await reply.send(body === undefined ? undefined : Buffer.from(body));
  }

  function unanswered(known: RequestAnswerRow, now: number): AppError {
    // SQLite is one process's: what that does not carry out, nobody does.
    const isAlone = store.session === undefined;
    const isUnderWay = isAlone ? underWay.has(nameOf(known)) : now - Date.parse(known.created_at) < UNDER_WAY_MS;
    if (isUnderWay) {
      const message = 'the request with this Idempotency-Key is still being carried out; ask again in a moment';
      return new AppError('conflict', message, { retryAfterSeconds: 2 });
    }
    return new AppError(
      'conflict',
      `the request with this Idempotency-Key came at ${known.created_at}, and how it ended is not known; look whether it was done (GET /api/v1/audit?actor=${encodeURIComponent(known.actor)}&since=${known.created_at}), and send it under a new key if it was not`,
    );
  }
}

/** Undefined: without a key, or no `POST`, or one whose route keeps keys itself. */
function keyOf(request: FastifyRequest, prefix: string): RequestKey | undefined {
  const header = request.headers['idempotency-key'];
  if (request.method !== 'POST' || header === undefined) return undefined;
  if (request.routeOptions.url === `${prefix}${OWN_KEYS}`) return undefined;
  if (typeof header !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(header)) {
    throw refusal([{ path: '/headers/idempotency-key', message: 'must be 1 to 255 visible ASCII characters, once' }]);
  }
  const { name: actor, organization } = adminOf(request);
  return { organization_id: organization.id, actor, request_key: header };
}

/**
 * Keyed: a body may hold a secret, which a plain hash would let be guessed. The same by another token, or by one that may do
 * less, is another request: an answer may hold a token that this one could not have made.
 */
function hashOf(request: FastifyRequest, masterKey: Pick<MasterKey, 'derive'>): string {
  const { tokenHash, scopes } = adminOf(request);
  const by = { tokenHash, scopes: [...scopes].sort() };
  const text = canonicalJson({ method: request.method, url: request.url, body: request.body ?? null, by });
  return createHmac('sha256', masterKey.derive('request-answers')).update(text, 'utf8').digest('hex');
}

function nameOf({ organization_id, actor, request_key }: RequestKey): string {
  return JSON.stringify([organization_id, actor, request_key]);
}

function contextOf(key: RequestKey): string {
  return `request-answer/${nameOf(key)}`;
}
