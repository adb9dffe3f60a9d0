/** HTTP status of every `error` code that either API answers with (decisions, "Errors"). */
export const ERROR_STATUS = {
  invalid_body: 400,
  constraint_violated: 400,
  missing_token: 401,
  invalid_token: 401,
  expired_token: 401,
  invalid_signature: 401,
  clock_skew: 401,
  registration_token_used: 401,
  registration_token_expired: 401,
  cluster_mismatch: 403,
  cluster_disabled: 403,
  forbidden: 403,
  job_not_found: 404,
  not_found: 404,
  not_acceptable: 406,
  job_closed: 409,
  result_exists: 409,
  already_rotated: 409,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof ERROR_STATUS;

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
