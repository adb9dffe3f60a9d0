import { Agent, fetch } from 'undici';
import { HTTP_1 } from '../runtime/http-1.ts';
import { readBounded } from '../runtime/read-bounded.ts';

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 256 * 1024;
const dispatcher = new Agent(HTTP_1);

/** An answer of an issuer: a document, or a refusal of RFC 6749, section 5.2, with its code. */
export interface IssuerAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Without redirects: what is posted holds a secret. */
export async function askIssuer(url: string, form?: Readonly<Record<string, string>>): Promise<IssuerAnswer> {
  if (!isSafe(url)) throw new Error(`${url} is neither https:// nor of this machine`);
  const answer = await fetch(url, {
    dispatcher,
    redirect: 'error',
    headers: { accept: 'application/json' },
    ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = (await readBounded(answer, MAX_BYTES)).toString('utf8');
  return { status: answer.status, body: objectIn(text) };
}

export function textIn(body: IssuerAnswer['body'], name: string): string | undefined {
  const value = body[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** How an issuer refuses, without anything that it was sent. */
export function refusalOf({ status, body }: IssuerAnswer): string {
  const code = textIn(body, 'error') ?? `status ${status}`;
  const said = textIn(body, 'error_description');
  return said === undefined ? code : `${code}: ${said}`;
}

function isSafe(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || (protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname));
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
