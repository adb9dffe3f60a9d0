import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

export type { ErrorCode };

/** HTTP status of every `error` code. */
export const ERROR_STATUS = Object.fromEntries(
  Object.entries(ERROR_CODES).map(([code, { status }]) => [code, status]),
) as { readonly [Code in ErrorCode]: (typeof ERROR_CODES)[Code]['status'] };

/** One fault in a request: where (an RFC 6901 JSON pointer, `/values/replicas`), what, and what would be taken instead. */
export interface Fault {
  readonly path: string;
  readonly message: string;
  readonly allowed?: unknown;
}

/** A refusal or failure that a caller can act on. Its `code` decides the HTTP status; its message is safe to show. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly faults: readonly Fault[];
  /** Further members of the error body, for example `serverTime` of `clock_skew`. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** `Retry-After` in seconds, where the answer carries one. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      readonly cause?: unknown;
      readonly faults?: readonly Fault[];
      readonly extra?: Readonly<Record<string, unknown>>;
      readonly retryAfterSeconds?: number;
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.faults = options.faults ?? [];
    this.extra = options.extra ?? {};
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}
