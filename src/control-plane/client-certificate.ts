import '../runtime/reflect-metadata.ts';
import { SubjectAlternativeNameExtension, X509Certificate as ParsedCertificate } from '@peculiar/x509';
import { X509Certificate } from 'node:crypto';
import { isClusterId } from '../protocol/ids.ts';

const URI_PREFIX = 'service://cluster/';
/** OID of clientAuth in an extended key usage. */
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

/** What a client certificate says, as far as it matters here. Whether it is to be believed is asked apart. */
export interface ClientCertificate {
  readonly certificate: X509Certificate;
  /** Ids that its common names and URIs name; empty for a certificate of something else than a cluster. */
  readonly clusterIds: readonly string[];
}

/** The URI by which a certificate names a cluster. */
export function clusterUri(clusterId: string): string {
  return `${URI_PREFIX}${clusterId}`;
}

/** @returns undefined for bytes that are no certificate */
export function readClientCertificate(der: Uint8Array): ClientCertificate | undefined {
  try {
    const parsed = new ParsedCertificate(Uint8Array.from(der));
    const names = parsed.subjectName.getField('CN').filter(isClusterId);
    const uris = (parsed.getExtension(SubjectAlternativeNameExtension)?.names.items ?? [])
      .filter(({ type, value }) => type === 'url' && value.startsWith(URI_PREFIX))
      .map(({ value }) => value.slice(URI_PREFIX.length));
    return { certificate: new X509Certificate(der), clusterIds: [...new Set([...names, ...uris])] };
  } catch {
    return undefined;
  }
}

/** Whether the time is within the certificate's validity: a connection may outlive it. */
export function isWithinValidity(certificate: X509Certificate, now: Date): boolean {
  return certificate.validFromDate <= now && now < certificate.validToDate;
}

/** Whether it may be used by a client; one without the extension may be used for anything (RFC 5280, section 4.2.1.12). */
export function isForClients(certificate: X509Certificate): boolean {
  // Node's name for the extended key usage.
  const { keyUsage } = certificate as { keyUsage?: readonly string[] };
  return keyUsage === undefined || keyUsage.includes(CLIENT_AUTH);
}

/** Whether one of the authorities signed it and both are valid at that time. */
export function isSignedByOneOf(
  certificate: X509Certificate,
  authorities: readonly X509Certificate[],
  now: Date,
): boolean {
  return authorities.some(
    (authority) =>
      authority.ca &&
      isWithinValidity(authority, now) &&
      certificate.checkIssued(authority) &&
      certificate.verify(authority.publicKey),
  );
}
