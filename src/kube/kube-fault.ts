import { KubeError, type StatusCause } from './cluster-api.ts';

/** No answer came: refused, reset, not resolved, broken TLS. */
export const CONNECTION_FAILED = 'ConnectionFailed';
/** No complete answer within the request's time. */
export const TIMED_OUT = 'RequestTimedOut';
/** The answer, or one line of a watch, is larger than this client accepts. */
export const ANSWER_TOO_LARGE = 'AnswerTooLarge';
/** The answer is not what the Kubernetes API speaks. */
export const ANSWER_UNREADABLE = 'AnswerUnreadable';
/** The server does not serve this kind in this version: its CRD is missing, or it was removed. */
export const KIND_NOT_FOUND = 'KindNotFound';
/** The kubeconfig cannot be used; the message says which part. */
export const KUBECONFIG_INVALID = 'KubeconfigInvalid';
/** The caller's signal aborted the request, or the connection was disposed of. */
export const ABORTED = 'Aborted';

/** The `Status` object that the API server answers with instead of a resource. */
export interface KubeStatus {
  readonly kind: 'Status';
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly name?: string;
    readonly kind?: string;
    readonly causes?: readonly StatusCause[];
    readonly retryAfterSeconds?: number;
  };
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

export function isStatus(value: unknown): value is KubeStatus {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';
}

/** An error from a `Status`; `httpStatus` stands in where the object carries no code. */
export function faultOfStatus(status: KubeStatus, httpStatus: number, where: string, retryAfter?: number): KubeError {
  const code = typeof status.code === 'number' && status.code >= 400 ? status.code : httpStatus;
  const retryAfterSeconds = retryAfter ?? status.details?.retryAfterSeconds;
  const message = status.message ?? '';
  return new KubeError(message === '' || message === 'Unauthorized' ? `${where}: ${code} ${message}`.trim() : message, {
    status: code,
    reason: status.reason === undefined || status.reason === '' ? (REASONS[code] ?? 'Unknown') : status.reason,
    causes: status.details?.causes ?? [],
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

/** An error from any answer that is not a success: a `Status`, a proxy's HTML page, plain text, nothing. */
export function faultOfAnswer(answer: {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly retryAfter?: number;
  readonly where: string;
}): KubeError {
  const { status, where, retryAfter } = answer;
  const parsed = parsedStatus(answer.body);
  if (parsed !== undefined) return faultOfStatus(parsed, status, where, retryAfter);
  const text = answer.body.replaceAll(/\s+/g, ' ').trim().slice(0, 200);
  return new KubeError(
    `${where}: answered ${status} (${answer.contentType || 'no content type'})${text && `: ${text}`}`,
    {
      status,
      reason: REASONS[status] ?? 'Unknown',
      ...(retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter }),
    },
  );
}

/**
 * Whether a 404 says that this object is not there, rather than that its kind is not served.
 * The API server names the missing object in `details.name`; an unserved path gives plain text or a nameless Status.
 */
export function namesMissingObject(body: string): boolean {
  const status = parsedStatus(body);
  return status !== undefined && status.details?.name !== undefined && status.details.name !== '';
}

function parsedStatus(body: string): KubeStatus | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isStatus(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
