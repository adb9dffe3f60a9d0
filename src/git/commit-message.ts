/** Trailers in the order in which they stand. */
export interface CommitTrailers {
  readonly 'Intent-Id': string;
  readonly 'Cluster-Id': string;
  readonly 'Idempotency-Key': string;
  readonly 'Requested-By': string;
  /** One trailer for each person. */
  readonly 'Approved-By'?: readonly string[];
}

const MAX_SUBJECT_CHARACTERS = 100;
const MAX_BODY_CHARACTERS = 4000;
const MAX_TRAILER_CHARACTERS = 500;

/** Everything that ends a line somewhere, and every other control character; also what reorders text on a screen. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const LINE_BREAKS = /\r\n?|[\n\u000b\u000c\u0085\u2028\u2029]/g;
const UNPRINTABLE =
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;
/** What some tool takes for a trailer, for the end of the message, or for a comment. */
const LOOKS_LIKE_A_TRAILER = /^(\s*[A-Za-z0-9][A-Za-z0-9-]*\s*[:#=]|\(cherry picked from|---|#)/;

/**
 * A commit message: subject, the person's reason as body, trailers. Whatever the reason holds, it stays body: a line
 * that looks like a trailer is indented, and the trailers are a paragraph of their own at the end.
 */
export function commitMessage(parts: {
  readonly subject: string;
  readonly reason: string | undefined;
  /** In this order. Of an intent's commit, or of another that the control plane makes. */
  readonly trailers: CommitTrailers | Readonly<Record<string, string>>;
}): string {
  const body = bodyOf(parts.reason ?? '');
  const trailers = Object.entries(parts.trailers).flatMap(
    ([key, value]: readonly [string, string | readonly string[]]) =>
      [value].flat().map((one) => `${key}: ${cut(oneLine(one), MAX_TRAILER_CHARACTERS)}`),
  );
  const paragraphs = [cut(oneLine(parts.subject), MAX_SUBJECT_CHARACTERS), body, trailers.join('\n')];
  return `${paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')}\n`;
}

/** The trailers of a message: lines `Key: value` of its last paragraph, when all its lines are such lines. Of one that stands there more than once, the last. */
export function readTrailers(message: string): ReadonlyMap<string, string> {
  const paragraphs = message.trimEnd().split(/\n{2,}/);
  const last = paragraphs.length > 1 ? (paragraphs.at(-1) ?? '') : '';
  const trailers = new Map<string, string>();
  for (const line of last.split('\n')) {
    const match = /^([A-Za-z0-9-]+): (.*)$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined) return new Map();
    trailers.set(match[1], match[2]);
  }
  return trailers;
}

function oneLine(text: string): string {
  return text.replace(LINE_BREAKS, ' ').replace(UNPRINTABLE, '').replace(/\s+/g, ' ').trim();
}

function bodyOf(reason: string): string {
  const lines = cut(reason, MAX_BODY_CHARACTERS)
    .replace(LINE_BREAKS, '\n')
    .replace(UNPRINTABLE, '')
    .split('\n')
    .map((line) => line.trimEnd())
    .map((line) => (LOOKS_LIKE_A_TRAILER.test(line) ? `  ${line.trimStart()}` : line));
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+|\n+$/g, '');
}

/** Counts characters, not UTF-16 halves, so that none is cut in two. */
function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const all = Array.from(text);
  return all.length <= characters ? text : `${all.slice(0, characters - 1).join('')}…`;
}
