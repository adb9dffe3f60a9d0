import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, rootCertificates } from 'node:tls';
import { ConfigError, type ControlPlaneConfig } from './config.ts';

export interface TlsFiles {
  /** PEM texts. */
  readonly cert: string;
  readonly key: string;
  /** PEM of the root that the certificate ends at: what an agent verifies this server by. */
  readonly root: string;
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
  return { cert, key, root: rootOf(cert) };
}

/** The chain's own root where the file has it, else the one of Node's bundled roots that signed its last certificate. */
function rootOf(chain: string): string {
  const pems = chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const last = pems.at(-1);
  if (last === undefined) return '';
  const certificate = new X509Certificate(last);
  if (certificate.checkIssued(certificate)) return `${last}\n`;
  const root = rootCertificates.find((pem) => certificate.checkIssued(new X509Certificate(pem)));
  return `${root ?? last}\n`;
}

async function read(variable: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new ConfigError(variable, `names a file that cannot be read: ${file} (${code})`);
  }
}
