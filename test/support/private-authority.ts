import '../../src/runtime/reflect-metadata.ts';
import { KeyObject, webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  type X509Certificate,
} from '@peculiar/x509';

const KEY = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };
const HOUR_MS = 3_600_000;

interface Certified {
  readonly certificate: X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
}

/** PEM texts of a server for 127.0.0.1 whose certificate a private root signed by an intermediate. */
export interface PrivateChain {
  readonly root: string;
  readonly intermediate: string;
  readonly leaf: string;
  readonly key: string;
}

export async function issuePrivateChain(name: string): Promise<PrivateChain> {
  const root = await issue(`${name} root`, true);
  const intermediate = await issue(`${name} intermediate`, true, root);
  const leaf = await issue(`${name} server`, false, intermediate);
  const pem = ({ certificate }: Certified): string => `${certificate.toString('pem')}\n`;
  const key = KeyObject.from(leaf.keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
  return { root: pem(root), intermediate: pem(intermediate), leaf: pem(leaf), key };
}

async function issue(name: string, isAuthority: boolean, by?: Certified): Promise<Certified> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
  const now = Date.now();
  const certificate = await X509CertificateGenerator.create({
    subject: [{ CN: [name] }],
    issuer: by === undefined ? [{ CN: [name] }] : by.certificate.subjectName,
    publicKey: keys.publicKey,
    signingKey: (by ?? { keys }).keys.privateKey,
    notBefore: new Date(now - HOUR_MS),
    notAfter: new Date(now + HOUR_MS),
    signingAlgorithm: SIGNATURE,
    extensions: [
      new BasicConstraintsExtension(isAuthority, undefined, true),
      ...(isAuthority ? [] : [new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])]),
    ],
  });
  return { certificate, keys };
}
