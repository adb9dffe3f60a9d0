import '../../runtime/reflect-metadata.ts';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { createPrivateKey, createPublicKey, KeyObject, webcrypto } from 'node:crypto';
import { Secret } from '../../runtime/secret.ts';

/** A certificate and its private key: PEM, the key as PKCS #8. */
export interface CertifiedKey {
  readonly certificate: string;
  readonly key: Secret;
}

const DAY_MS = 86_400_000;
export const AUTHORITY_LIFETIME_MS = 3650 * DAY_MS;
export const SERVING_LIFETIME_MS = 90 * DAY_MS;
/** Clocks of the API server's nodes may be behind this one's. */
const BACKDATED_MS = 5 * 60_000;
const KEY = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };

/** The names that the API server reaches the webhook under, by its Service, and those of this machine. */
export function webhookNames(namespace: string): readonly string[] {
  const service = `service-operator.${namespace}.svc`;
  return [service, `${service}.cluster.local`, 'localhost'];
}

/** A new authority, which signs serving certificates and nothing else. */
export async function issueAuthority(now: Date): Promise<CertifiedKey> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [`service-operator webhook ${now.toISOString()}`] }],
    keys,
    ...validity(now, AUTHORITY_LIFETIME_MS),
    signingAlgorithm: SIGNATURE,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: certificate.toString('pem'), key: pemOf(keys.privateKey) };
}

/** A certificate that an authority signed for a server by these names and 127.0.0.1. */
export async function issueServing(
  authority: CertifiedKey,
  names: readonly string[],
  now: Date,
): Promise<CertifiedKey> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
  const signer = createPrivateKey(authority.key.expose());
  const authorityKey = createPublicKey(signer).toCryptoKey(KEY, true, ['verify']);
  const [name = 'service-operator'] = names;
  const certificate = await X509CertificateGenerator.create({
    subject: [{ CN: [name.slice(0, 64)] }],
    issuer: new X509Certificate(authority.certificate).subjectName,
    publicKey: keys.publicKey,
    signingKey: signer.toCryptoKey(KEY, false, ['sign']),
    ...validity(now, SERVING_LIFETIME_MS),
    signingAlgorithm: SIGNATURE,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([
        ...names.map((value) => ({ type: 'dns' as const, value })),
        { type: 'ip' as const, value: '127.0.0.1' },
      ]),
      await AuthorityKeyIdentifierExtension.create(authorityKey),
    ],
  });
  return { certificate: certificate.toString('pem'), key: pemOf(keys.privateKey) };
}

function validity(now: Date, lifetimeMs: number): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(now.getTime() - BACKDATED_MS), notAfter: new Date(now.getTime() + lifetimeMs) };
}

function pemOf(key: webcrypto.CryptoKey): Secret {
  return new Secret(KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }).toString());
}
