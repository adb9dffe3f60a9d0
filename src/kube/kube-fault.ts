import { KubeError, type StatusCause } from './cluster-api.ts';
import { harmless } from './secret-filter.ts';

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

/** Of a conflict; a server names one for each field. */
const MAX_CAUSES = 100;

/** What makes the text of a server fit to be shown (`SecretFilter`). */
export type CleanText = (text: string) => string;

/** An error from a `Status`; `httpStatus` stands in where the object carries no code. */
export function faultOfStatus(
  status: KubeStatus,
  httpStatus: number,
  where: string,
  { retryAfter, clean = harmless }: { readonly retryAfter?: number; readonly clean?: CleanText } = {},
): KubeError {
  const code = typeof status.code === 'number' && status.code >= 400 && status.code < 600 ? status.code : httpStatus;
  const { causes, retryAfterSeconds: asked } = isEntry(status.details) ? status.details : {};
  const retryAfterSeconds = retryAfter ?? (typeof asked === 'number' && asked > 0 ? asked : undefined);
  const said = textOf(status.message);
  const message = said === '' || said === 'Unauthorized' ? `${where}: ${code} ${said}`.trim() : said;
  const reason = textOf(status.reason);
  return new KubeError(clean(message), {
    status: code,
    reason: /^[A-Za-z]{1,64}$/.test(reason) ? reason : (REASONS[code] ?? 'Unknown'),
    causes: Array.isArray(causes) ? causes.slice(0, MAX_CAUSES).flatMap((cause) => causeOf(cause, clean)) : [],
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
  readonly clean?: CleanText;
}): KubeError {
  const { status, where, retryAfter, clean = harmless } = answer;
  const parsed = parsedStatus(answer.body);
  const more = { clean, ...(retryAfter === undefined ? {} : { retryAfter }) };
  if (parsed !== undefined) return faultOfStatus(parsed, status, where, more);
  const text = answer.body.replaceAll(/\s+/g, ' ').trim();
  const message = `${where}: answered ${status} (${answer.contentType || 'no content type'})${text && `: ${text}`}`;
  return new KubeError(clean(message), {
    status,
    reason: REASONS[status] ?? 'Unknown',
    ...(retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter }),
  });
}

/** What a server sends need not be what the type says. */
function causeOf(cause: unknown, clean: CleanText): readonly StatusCause[] {
  if (!isEntry(cause)) return [];
  const { reason, message, field } = cause;
  return [
    {
      ...(typeof reason === 'string' ? { reason: clean(reason) } : {}),
      ...(typeof message === 'string' ? { message: clean(message) } : {}),
      ...(typeof field === 'string' ? { field: clean(field) } : {}),
    },
  ];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isEntry(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/**
 * Whether a 404 says that this object is not there, rather than that its kind is not served.
 * The API server names the missing object in `details.name`; an unserved path gives plain text or a nameless Status.
 */
export function namesMissingObject(body: string): boolean {
  const status = parsedStatus(body);
  return isEntry(status?.details) && textOf(status.details.name) !== '';
}

function parsedStatus(body: string): KubeStatus | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isStatus(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
