import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import { KubeError } from './cluster-api.ts';
import { CONNECTION_FAILED } from './kube-fault.ts';

const RETRIES = 4;
const WAIT = { minMs: 100, maxMs: 8_000 };
/** A server may ask for hours; a caller's queue is the better place to wait that long. */
const MAX_RETRY_AFTER_SECONDS = 30;

/**
 * Repeats an idempotent request after 429 (waiting at least `Retry-After`), a server's own fault or a broken connection,
 * at most four times. A timeout is not repeated here: it has cost the caller its patience once already.
 */
export async function retryRequest<T>(
  deps: { readonly clock: Clock; readonly random: () => number },
  signal: AbortSignal | undefined,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let retry = 1; ; retry += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof KubeError) || retry > RETRIES || !worthRepeating(error)) throw error;
      const asked = error.retryAfterSeconds ?? 0;
      if (asked > MAX_RETRY_AFTER_SECONDS) throw error;
      const wait = asked * 1000 + backoffMs(WAIT, retry, deps.random);
      try {
        await deps.clock.sleep(wait, signal);
      } catch {
        throw error;
      }
    }
  }
}

function worthRepeating(error: KubeError): boolean {
  if (error.status !== 0) return error.retryable;
  return error.reason === CONNECTION_FAILED && !isTrustFailure(error.cause);
}

/** The server's certificate is not the one that the kubeconfig trusts: asking again changes nothing. */
function isTrustFailure(cause: unknown): boolean {
  if (!(cause instanceof Error) || !('code' in cause)) return false;
  const code = String(cause.code);
  return code.startsWith('CERT_') || code.startsWith('ERR_TLS_') || /SELF_SIGNED|UNABLE_TO_VERIFY|ISSUER/.test(code);
}
