import { CONFIG_REVISION_HEADER } from '../protocol/agent-config.ts';
import { EVENT_LOG_HEADER, parseEventLogMark, type EventLogMark } from '../protocol/event-log.ts';
import { ERROR_STATUS, type ErrorCode } from '../protocol/app-error.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { AGENT_MEDIA_TYPE } from '../protocol/media-type.ts';

/** What one request to the control plane came to. */
export type AgentAnswer =
  | {
      readonly state: 'ok';
      readonly status: number;
      /** Undefined for 204 and 304. */
      readonly body: unknown;
      readonly etag?: string;
      /** `Service-Config-Revision` of this very answer. */
      readonly revision?: string;
      /** `Service-Event-Log` of this very answer. */
      readonly eventLog?: EventLogMark;
    }
  /** The control plane itself refused: its media type and a known code. */
  | {
      readonly state: 'refused';
      readonly status: number;
      readonly code: ErrorCode;
      readonly message: string;
      readonly body: Readonly<Record<string, unknown>>;
    }
  /** Nobody answered, or what did was a failing server or a proxy: worth trying again. */
  | {
      readonly state: 'unavailable';
      readonly message: string;
      /** From `Retry-After`, in milliseconds. */
      readonly retryAfterMs?: number;
      /** The connection was there and ended, or a gateway gave up, before an answer: a held request may end so. */
      readonly cut: boolean;
      /** It was the control plane that answered, asking for patience (429). */
      readonly answered: boolean;
    };

/** An answer as it came from the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/**
 * Classifies an answer. A 4xx counts as ours only with the agent media type and a known `error` code: a proxy's HTML 401 or
 * 403 must not stop an operator, so it is treated like a 5xx (decisions, "Register, rotate, config").
 */
export function classifyAnswer(raw: RawAnswer, now: Date): AgentAnswer {
  const { status } = raw;
  if (status === 204 || status === 304) return { state: 'ok', status, body: undefined, ...aside(raw) };
  const json = hasAgentMediaType(raw) ? parseObject(raw.text) : undefined;
  if (status >= 200 && status < 300) {
    if (json !== undefined) return { state: 'ok', status, body: json, ...aside(raw) };
    return unavailable(raw, now, `answered ${status} with something that is not ${AGENT_MEDIA_TYPE}`);
  }
  const code = json === undefined ? undefined : knownCode(json['error']);
  const message = typeof json?.['message'] === 'string' ? json['message'] : undefined;
  if (code !== undefined && json !== undefined && status < 500 && status !== 429) {
    return { state: 'refused', status, code, message: message ?? code, body: json };
  }
  return unavailable(raw, now, `answered ${status}${message === undefined ? '' : `: ${message}`}`);
}

/**
 * Milliseconds of a `Retry-After` header (RFC 9110, 10.2.3: seconds or an HTTP date), at most a day; undefined where it
 * cannot be read.
 */
export function retryAfterMs(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : new Date(text).getTime() - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), 86_400_000);
}

export function headerOf(raw: Pick<RawAnswer, 'headers'>, name: string): string | undefined {
  const value = raw.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function unavailable(raw: RawAnswer, now: Date, message: string): AgentAnswer {
  const wait = retryAfterMs(headerOf(raw, 'retry-after'), now);
  const cut = raw.status === 502 || raw.status === 504;
  const answered = raw.status === 429 && hasAgentMediaType(raw);
  return { state: 'unavailable', message, cut, answered, ...(wait === undefined ? {} : { retryAfterMs: wait }) };
}

function hasAgentMediaType(raw: RawAnswer): boolean {
  const [type = ''] = (headerOf(raw, 'content-type') ?? '').split(';');
  return type.trim().toLowerCase() === AGENT_MEDIA_TYPE;
}

function aside(raw: RawAnswer): Pick<Extract<AgentAnswer, { readonly state: 'ok' }>, 'etag' | 'revision' | 'eventLog'> {
  const etag = headerOf(raw, 'etag');
  const revision = headerOf(raw, CONFIG_REVISION_HEADER);
  const eventLog = parseEventLogMark(headerOf(raw, EVENT_LOG_HEADER));
  return {
    ...(etag === undefined ? {} : { etag }),
    ...(revision === undefined ? {} : { revision }),
    ...(eventLog === undefined ? {} : { eventLog }),
  };
}

function knownCode(value: unknown): ErrorCode | undefined {
  return typeof value === 'string' && Object.hasOwn(ERROR_STATUS, value) ? (value as ErrorCode) : undefined;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseExactJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
