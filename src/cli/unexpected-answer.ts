import { CliError, EXIT } from './cli-error.ts';

/** Of an answer of another shape than the one that was asked for. */
export function unexpectedAnswer(cause?: unknown): CliError {
  return new CliError(
    EXIT.failed,
    'the control plane answers something that is not of a control plane of this version',
    'See both versions: servicectl doctor; where it went wrong: SERVICECTL_DEBUG=1',
    { cause },
  );
}

/** What follows a page, which each page says but once. @throws CliError for a list without items, or one that has no end */
export function cursorAfter(
  page: { readonly items: readonly unknown[]; readonly nextCursor?: string },
  seen: Set<string>,
): string | undefined {
  const { items, nextCursor } = page;
  if (!Array.isArray(items) || !['string', 'undefined'].includes(typeof nextCursor)) throw unexpectedAnswer();
  if (nextCursor === undefined) return undefined;
  if (seen.has(nextCursor)) throw unexpectedAnswer(new Error('a list names the same cursor again'));
  seen.add(nextCursor);
  return nextCursor;
}
