import '../runtime/reflect-metadata.ts';
import { Pkcs10CertificateRequest, type PublicKey } from '@peculiar/x509';
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { AppError } from '../protocol/app-error.ts';
import { refusal } from '../protocol/parse.ts';

const CURVES: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
const RSA_BITS = { least: 2048, most: 8192 } as const;
const KEYS = 'an ECDSA key (P-256, P-384, P-521), Ed25519, or RSA of 2048 to 8192 bits';

/**
 * Reads a PKCS #10 request as PEM, of which only the public key counts: its signature must be made by that key, whose kind
 * and size must be up to date. The subject and the extensions that it asks for are not looked at.
 *
 * @throws AppError `constraint_violated` with the path `/csr`
 */
export async function readCertificateRequest(pem: string): Promise<{ readonly publicKey: PublicKey }> {
  let request: Pkcs10CertificateRequest;
  let key: KeyObject;
  let isSigned: boolean;
  try {
    // The library takes base64 and hex as well; what is documented is PEM.
    if (!/^\s*-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----/.test(pem)) throw new Error('not PEM');
    request = new Pkcs10CertificateRequest(pem.replaceAll(' NEW CERTIFICATE REQUEST', ' CERTIFICATE REQUEST'));
    key = createPublicKey({ key: Buffer.from(request.publicKey.rawData), format: 'der', type: 'spki' });
  } catch {
    throw fault('must be a PKCS #10 certificate request as PEM');
  }
  if (!isTaken(key)) throw fault(`must be for ${KEYS}`);
  try {
    isSigned = await request.verify();
  } catch {
    isSigned = false;
  }
  if (!isSigned) throw fault('must be signed by the private key of the key that it holds');
  return { publicKey: request.publicKey };
}

function isTaken({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean {
  if (type === 'ec') return CURVES.has(details?.namedCurve ?? '');
  if (type !== 'rsa') return type === 'ed25519';
  const bits = details?.modulusLength ?? 0;
  return bits >= RSA_BITS.least && bits <= RSA_BITS.most;
}

function fault(message: string): AppError {
  return refusal([{ path: '/csr', message, allowed: 'a PKCS #10 request as PEM' }]);
}
