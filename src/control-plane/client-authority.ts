import '../runtime/reflect-metadata.ts';
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
import type { Clock } from '../runtime/clock.ts';
import { clusterUri } from './client-certificate.ts';
import { readCertificateRequest } from './certificate-request.ts';
import type { MasterKey } from './master-key.ts';
import { findCertificateAuthorities, keepCertificateAuthority } from './store/certificate-authorities.ts';
import type { Store } from './store/open-store.ts';
import type { CertificateAuthorityRow } from './store/schema.ts';

const LIFETIME_MS = 3650 * 86_400_000;
/** A successor is made when this share of a lifetime is over; what the old one signed stays valid until it ends. */
const DUE = 2 / 3;
/** Clocks of proxies may be behind this one's. */
const BACKDATED_MS = 5 * 60_000;
const KEY = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };

export interface ClientAuthorityDeps {
  readonly store: Store;
  readonly masterKey: Pick<MasterKey, 'seal' | 'open'>;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
}

/**
 * The authority that signs the clusters' client certificates. It is kept in the database, its key sealed by the master
 * key, and made when it is first asked for; of several replicas that make one at once, one wins and all use it.
 */
export class ClientAuthority {
  readonly #deps: ClientAuthorityDeps;

  constructor(deps: ClientAuthorityDeps) {
    this.#deps = deps;
  }

  /** PEM of every authority whose certificates may still be valid, the one that signs first. */
  async certificates(): Promise<readonly string[]> {
    const current = await this.#current();
    const others = (await this.#rows()).filter(({ id }) => id !== current.id);
    return [current, ...others].map(({ certificate }) => certificate);
  }

  /**
   * A certificate for one cluster, whatever subject the request has: CN and the URI `service://cluster/<id>`.
   *
   * @param request.csr PKCS #10 as PEM
   * @param request.expiresAt of the credential that it goes with, RFC 3339
   * @returns PEM: the certificate, then the authority's
   * @throws AppError `constraint_violated` with the path `/csr`
   */
  async issue(request: {
    readonly csr: string;
    readonly clusterId: string;
    readonly expiresAt: string;
  }): Promise<string> {
    const { masterKey, clock, randomBytes } = this.#deps;
    const { publicKey } = await readCertificateRequest(request.csr);
    const authority = await this.#current();
    const issuer = new X509Certificate(authority.certificate);
    const key = await masterKey.open(authority.private_key_sealed, sealContext(authority.id));
    const signer = createPrivateKey(key.expose());
    const certificate = await X509CertificateGenerator.create({
      serialNumber: serialNumber(randomBytes),
      subject: [{ CN: [request.clusterId] }],
      issuer: issuer.subjectName,
      publicKey,
      signingKey: signer.toCryptoKey(KEY, false, ['sign']),
      notBefore: new Date(clock.now().getTime() - BACKDATED_MS),
      notAfter: new Date(request.expiresAt),
      signingAlgorithm: SIGNATURE,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
        new SubjectAlternativeNameExtension([{ type: 'url', value: clusterUri(request.clusterId) }]),
        await AuthorityKeyIdentifierExtension.create(createPublicKey(signer).toCryptoKey(KEY, true, ['verify'])),
      ],
    });
    return `${certificate.toString('pem')}\n${authority.certificate}`;
  }

  /** The authority that signs: the newest, unless it is due, in which case its successor is made. */
  async #current(): Promise<CertificateAuthorityRow> {
    const { store, clock } = this.#deps;
    const rows = await this.#rows();
    const [newest] = rows;
    if (newest !== undefined && !isDue(newest, clock.now())) return newest;
    // The id counts, so that replicas that get here together make the same row and the first one's stays.
    const number = 1 + Math.max(0, ...rows.map(({ id }) => Number(id.slice(ID_PREFIX.length))));
    const candidate = await this.#make(`${ID_PREFIX}${number}`);
    return await store.write(async (trx) => await keepCertificateAuthority(trx, candidate));
  }

  async #rows(): Promise<CertificateAuthorityRow[]> {
    return await findCertificateAuthorities(this.#deps.store.db, this.#deps.clock.now().toISOString());
  }

  async #make(id: string): Promise<CertificateAuthorityRow> {
    const { masterKey, clock, randomBytes } = this.#deps;
    const now = clock.now();
    const expiresAt = new Date(now.getTime() + LIFETIME_MS);
    const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.createSelfSigned({
      serialNumber: serialNumber(randomBytes),
      name: [{ CN: [`service-control-plane clients ${now.toISOString()}`] }],
      keys,
      notBefore: new Date(now.getTime() - BACKDATED_MS),
      notAfter: expiresAt,
      signingAlgorithm: SIGNATURE,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    const pem = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
    return {
      id,
      certificate: `${certificate.toString('pem')}\n`,
      private_key_sealed: await masterKey.seal(pem, sealContext(id)),
      created_at: now.toISOString(),
      expires_at: expiresAt.toISOString(),
    };
  }
}

const ID_PREFIX = 'clients-';

/** What binds the sealed key to its row: copied to another it does not open. */
function sealContext(id: string): string {
  return `certificate-authority/${id}`;
}

/** 127 random bits in hex: positive, and at most 20 bytes as RFC 5280 wants it. */
function serialNumber(randomBytes: (n: number) => Uint8Array): string {
  const bytes = Buffer.from(randomBytes(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
}

function isDue(row: CertificateAuthorityRow, now: Date): boolean {
  const from = Date.parse(row.created_at);
  return now.getTime() >= from + (Date.parse(row.expires_at) - from) * DUE;
}
