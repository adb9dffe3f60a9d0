import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { canonicalJson } from '../../../protocol/canonical-json.ts';
import { refusal } from '../../../protocol/parse.ts';

/** Of a SHA-256 in base64url: 96 bits. */
const PART_LENGTH = 16;
const TAG = /^"([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{16})"$/;
const MAX_TAGS = 16;

/** 304: the answer that a read of somebody who has it gets. */
export const NotModified = Type.Null({ description: 'It is what If-None-Match names.' });

type Headers = Pick<FastifyRequest, 'headers'>;

/**
 * The tag of an answer, in two parts: of what can be edited, and of the whole. `If-Match` goes by the first, so that an
 * edit is not refused because its cluster called meanwhile; `If-None-Match` of a read goes by both.
 *
 * @param editable what somebody can set, as it is stored: JSON
 * @param answer as it is sent
 */
export function entityTag(editable: unknown, answer: unknown): string {
  return `"${partOf(canonicalJson(editable))}.${partOf(JSON.stringify(answer))}"`;
}

/** Sends an answer with its tag; 304 without it to a read of somebody who has it (`If-None-Match`). */
export async function sendTagged(
  request: Headers & Pick<FastifyRequest, 'method'>,
  reply: FastifyReply,
  { editable, answer }: { readonly editable: unknown; readonly answer: object },
): Promise<FastifyReply> {
  const tag = entityTag(editable, answer);
  reply.header('etag', tag);
  const known = request.method === 'GET' || request.method === 'HEAD' ? tagsIn(request, 'if-none-match') : undefined;
  if (known === '*' || known?.includes(tag) === true) return await reply.code(304).send();
  return await reply.send(answer);
}

/**
 * Refuses a write that was made for another state than there is. To be called inside the transaction of the write.
 *
 * @param editable what can be edited of what is there, as `sendTagged` is given it; undefined: it is not there
 * @param what names it: `cluster prod-eu`
 * @throws AppError `precondition_failed`, `constraint_violated` for what is no tag
 */
export function requireMatch(request: Headers, editable: unknown, what: string): void {
  const expected = tagsIn(request, 'if-match');
  const unwanted = tagsIn(request, 'if-none-match');
  if (expected === undefined && unwanted === undefined) return;
  const now = editable === undefined ? undefined : partOf(canonicalJson(editable));
  const isAmong = (tags: readonly string[] | '*'): boolean =>
    now !== undefined && (tags === '*' || tags.some((tag) => TAG.exec(tag)?.[1] === now));
  if (expected !== undefined && !isAmong(expected)) {
    throw new AppError(
      'precondition_failed',
      now === undefined
        ? `If-Match: there is no ${what} (any more); leave If-Match out to make it`
        : `If-Match: ${what} was changed since it was read; read it again, look at what changed, and send your change with its new ETag`,
    );
  }
  if (unwanted !== undefined && isAmong(unwanted)) {
    throw new AppError(
      'precondition_failed',
      `If-None-Match: ${what} is there already; read it, and change it with its ETag in If-Match`,
    );
  }
}

/** @throws AppError `constraint_violated`; undefined: the header was not sent */
function tagsIn({ headers }: Headers, name: 'if-match' | 'if-none-match'): readonly string[] | '*' | undefined {
  const text = headers[name]?.trim();
  if (text === undefined) return undefined;
  if (text === '*') return text;
  // A proxy that compresses an answer makes its tag a weak one; what the tag says of the state stays.
  const tags = text.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (tags.length > MAX_TAGS || !tags.every((tag) => /^"[\x21\x23-\x7e]*"$/.test(tag))) {
    const message = `must be * or the ETag of an answer, in its quotes; at most ${MAX_TAGS} with commas between them`;
    throw refusal([{ path: `/headers/${name}`, message }]);
  }
  return tags;
}

function partOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, PART_LENGTH);
}
