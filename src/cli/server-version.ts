import { Agent, fetch } from 'undici';
import { HTTP_1 } from '../runtime/http-1.ts';
import { readBounded } from '../runtime/read-bounded.ts';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 8 * 1024 * 1024;
const dispatcher = new Agent(HTTP_1);

/** What a control plane says its version is, in the document of its API; undefined where it has none. */
export async function serverVersion(baseUrl: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`${baseUrl}/openapi.json`, {
      dispatcher,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = (await readBounded(answer, MAX_BYTES)).toString('utf8');
    const document = JSON.parse(text) as { readonly info?: { readonly version?: unknown } };
    const version = document.info?.version;
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}
