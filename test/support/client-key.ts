import '../../src/runtime/reflect-metadata.ts';
import { KeyObject, webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequestGenerator, X509CertificateGenerator, BasicConstraintsExtension } from '@peculiar/x509';

const KEY = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };
const HOUR_MS = 3_600_000;

/** A client's private key as PEM, and a request for a certificate of it. */
export interface ClientKey {
  readonly key: string;
  readonly csr: string;
}

/** @param name the subject that the request asks for */
export async function newClientKey(name = 'anything'): Promise<ClientKey> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [name] }],
    keys,
    signingAlgorithm: SIGNATURE,
  });
  return { key: pemOf(keys.privateKey), csr: request.toString('pem') };
}

/** A request for a key that is too short. */
export async function newWeakRequest(): Promise<string> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(
    { ...algorithm, modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]) },
    true,
    ['sign', 'verify'],
  );
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: ['weak'] }],
    keys,
    signingAlgorithm: algorithm,
  });
  return request.toString('pem');
}

/** An authority of somebody else, which certifies any common name. */
export interface OtherAuthority {
  readonly certificate: string;
  certify(commonName: string): Promise<{ readonly certificate: string; readonly key: string }>;
}

export async function newOtherAuthority(now: Date): Promise<OtherAuthority> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
  const validity = { notBefore: new Date(now.getTime() - HOUR_MS), notAfter: new Date(now.getTime() + 1000 * HOUR_MS) };
  const root = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: ['other authority'] }],
    keys,
    ...validity,
    signingAlgorithm: SIGNATURE,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  return {
    certificate: `${root.toString('pem')}\n`,
    certify: async (commonName) => {
      const client = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
      const certificate = await X509CertificateGenerator.create({
        subject: [{ CN: [commonName] }],
        issuer: root.subjectName,
        publicKey: client.publicKey,
        signingKey: keys.privateKey,
        ...validity,
        signingAlgorithm: SIGNATURE,
      });
      return { certificate: certificate.toString('pem'), key: pemOf(client.privateKey) };
    },
  };
}

function pemOf(key: webcrypto.CryptoKey): string {
  return KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }).toString();
}
