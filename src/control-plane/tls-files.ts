import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, rootCertificates } from 'node:tls';
import type { ControlPlaneConfig } from './config.ts';
import { ConfigError } from './config-error.ts';

export interface TlsFiles {
  /** PEM texts. */
  readonly cert: string;
  readonly key: string;
  /** PEM of the root that the certificate ends at: what an agent verifies this server by. Empty when the file has none. */
  readonly root: string;
  /** The certificate ends at a root that Node knows by itself, so that agents need none from here. */
  readonly isPublic: boolean;
}

/** @throws ConfigError when a file cannot be read, or the two do not fit each other */
export async function readTlsFiles(tls: NonNullable<ControlPlaneConfig['tls']>): Promise<TlsFiles> {
  const cert = await read('SERVICE_TLS_CERT', tls.certFile);
  const key = await read('SERVICE_TLS_KEY', tls.keyFile);
  try {
    createSecureContext({ cert, key });
  } catch {
    // OpenSSL's own text may quote the file.
    throw new ConfigError(
      'SERVICE_TLS_CERT',
      'and SERVICE_TLS_KEY must be a PEM certificate chain and its private key',
    );
  }
  return { cert, key, ...endOf(cert) };
}

/**
 * Goes up from the server's certificate. Only a self-signed one is answered as a root: by another, an intermediate say, no
 * TLS library verifies unless it is told to. A public root is not answered either, as it would pin agents to one that may
 * change with the next renewal.
 */
function endOf(chain: string): Pick<TlsFiles, 'root' | 'isPublic'> {
  const pems = chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const rest = new Map(pems.map((pem) => [pem, new X509Certificate(pem)]));
  for (let [pem] = pems; pem !== undefined;) {
    const certificate = rest.get(pem);
    if (certificate === undefined) break;
    if (isIssuedBy(certificate, certificate)) return { root: `${pem}\n`, isPublic: false };
    rest.delete(pem);
    pem = pems.find((other) => {
      const issuer = rest.get(other);
      return issuer !== undefined && isIssuedBy(certificate, issuer);
    });
    if (pem === undefined) {
      return {
        root: '',
        isPublic: rootCertificates.some((root) => isIssuedBy(certificate, new X509Certificate(root))),
      };
    }
  }
  return { root: '', isPublic: false };
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

async function read(variable: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new ConfigError(variable, `names a file that cannot be read: ${file} (${code})`);
  }
}
