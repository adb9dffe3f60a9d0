import { isIP } from 'node:net';
import { connect } from 'node:tls';

const TIMEOUT_MS = 5000;

/**
 * Whether the server at an address presents, now, a certificate that these PEM roots verify. At a plain http address there
 * is nothing to verify, and nothing that could fail. No answer within 5 s, and the signal, count as no. Never rejects.
 */
export async function isVerifiedBy(roots: string, baseUrl: string, signal: AbortSignal): Promise<boolean> {
  const { protocol, hostname, port } = new URL(baseUrl);
  if (protocol !== 'https:') return true;
  const host = hostname.replace(/^\[|\]$/g, '');
  const verified = Promise.withResolvers<boolean>();
  const either = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const giveUp = (): void => verified.resolve(false);
  either.addEventListener('abort', giveUp, { once: true });
  if (either.aborted) giveUp();
  try {
    using socket = disposable(
      connect({
        host,
        port: port === '' ? 443 : Number(port),
        ca: roots,
        // The name of a host only: an address may not stand there (RFC 6066, section 3).
        ...(isIP(host) === 0 ? { servername: host } : {}),
      }),
    );
    socket.tls.once('secureConnect', () => verified.resolve(socket.tls.authorized));
    socket.tls.on('error', giveUp);
    return await verified.promise;
  } catch {
    // Roots that are no PEM.
    return false;
  } finally {
    either.removeEventListener('abort', giveUp);
  }
}

function disposable(tls: ReturnType<typeof connect>): { readonly tls: typeof tls } & Disposable {
  return { tls, [Symbol.dispose]: () => tls.destroy() };
}
