import '../runtime/reflect-metadata.ts';
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import { createHash, createPrivateKey, KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { Secret } from '../runtime/secret.ts';

/** A key of this cluster and the request to certify it: PEM, the key as PKCS #8. */
export interface CertificateRequest {
  readonly csr: string;
  readonly key: Secret;
}

const KEY = { name: 'ECDSA', namedCurve: 'P-256' };

/**
 * A new EC P-256 key and a PKCS #10 request for it. Whose it is stands in the certificate, from the control plane, which
 * goes by the token and not by the subject asked for.
 */
export async function requestCertificate(): Promise<CertificateRequest> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: ['service-operator'] }],
    keys,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
  });
  const key = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' });
  return { csr: request.toString('pem'), key: new Secret(key.toString()) };
}

/** Why a certificate cannot be presented with this key; undefined: it can. */
export function certificateFault(certificate: string, key: Secret): string | undefined {
  let leaf: X509Certificate;
  try {
    leaf = new X509Certificate(certificate);
  } catch {
    return 'it is no X.509 certificate in PEM';
  }
  try {
    return leaf.checkPrivateKey(createPrivateKey(key.expose())) ? undefined : 'it was made for another key';
  } catch {
    return 'its key cannot be read';
  }
}

/** The certificate that came for a request; or why it is not used. Neither where none was asked for. */
export function fittingCertificate(
  certificate: string | undefined,
  key: Secret | undefined,
): {
  readonly certificate?: { readonly clientCertificate: { readonly certificate: string; readonly key: Secret } };
  readonly fault?: string;
} {
  if (key === undefined) return {};
  if (certificate === undefined) return { fault: 'the control plane gave no client certificate' };
  const fault = certificateFault(certificate, key);
  return fault === undefined ? { certificate: { clientCertificate: { certificate, key } } } : { fault };
}

/** Tells certificates apart: hex SHA-256 of the PEM text, without the white space around it. */
export function certificateFingerprint(certificate: string): string {
  return createHash('sha256').update(certificate.trim(), 'utf8').digest('hex');
}
