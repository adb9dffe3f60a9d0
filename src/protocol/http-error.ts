import { AppError, ERROR_STATUS, type ErrorCode, type Fault } from './app-error.ts';

/** Body of every error answer (specification, "Errors"), with members of ours behind. */
export interface ErrorBody {
  readonly error: ErrorCode;
  readonly message: string;
  readonly requestId: string;
  readonly faults?: readonly Fault[];
  readonly [extra: string]: unknown;
}

export interface ErrorAnswer {
  readonly status: number;
  readonly body: ErrorBody;
  /** Value of `Retry-After`. Always there for 429 and 503. */
  readonly retryAfterSeconds?: number;
}

const DEFAULT_RETRY_AFTER_SECONDS: Partial<Record<ErrorCode, number>> = { rate_limited: 1, unavailable: 5 };

/** Statuses that the HTTP framework itself answers with, in our words. Its own texts are not shown. */
const FRAMEWORK_FAULTS: Readonly<Record<number, { readonly code: ErrorCode; readonly message: string }>> = {
  400: { code: 'invalid_body', message: 'the request cannot be read' },
  404: { code: 'not_found', message: 'there is nothing at this path' },
  413: { code: 'payload_too_large', message: 'the body is larger than this endpoint takes' },
  414: { code: 'constraint_violated', message: 'the path is too long' },
  415: { code: 'unsupported_media_type', message: 'the media type of the body is not taken here' },
};

/** The answer to a request that failed. Whatever is not an `AppError` shows as `internal`, without its text. */
export function errorBody(error: unknown, requestId: string): ErrorAnswer {
  const { code, message, faults, extra, retryAfterSeconds } = asAppError(error);
  const retryAfter = retryAfterSeconds ?? DEFAULT_RETRY_AFTER_SECONDS[code];
  return {
    status: ERROR_STATUS[code],
    body: { ...extra, error: code, message, requestId, ...(faults.length === 0 ? {} : { faults }) },
    ...(retryAfter === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(retryAfter)) }),
  };
}

function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof Error && 'code' in error && 'statusCode' in error) {
    const { code, statusCode } = error;
    const known = typeof statusCode === 'number' ? FRAMEWORK_FAULTS[statusCode] : undefined;
    if (known !== undefined && typeof code === 'string' && code.startsWith('FST_')) {
      return new AppError(known.code, known.message);
    }
  }
  return new AppError('internal', 'the server failed at this request; its log has the details under the request id');
}
