import { X509Certificate } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { ClientAuthority } from '../../client-authority.ts';
import {
  isForClients,
  isSignedByOneOf,
  isWithinValidity,
  readClientCertificate,
  type ClientCertificate,
} from '../../client-certificate.ts';
import type { RefusalAudit } from '../../refusal-audit.ts';
import { markAgentCredentialCertified } from '../../store/agent-credentials.ts';
import type { Store } from '../../store/open-store.ts';
import { agentOf } from './authenticate.ts';
import { certificateIn } from './certificate-header.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** A verified client certificate names the agent's own cluster: its writes need no signature. */
    isCertified: boolean;
  }
}

/** Authorities are read again after this time: another replica may have made a new one. */
const AUTHORITIES_FOR_MS = 60_000;
/** Certificates that were read already, by the header's text. */
const MAX_READ = 1000;

export interface ClientCertificatesDeps {
  readonly store: Pick<Store, 'write'>;
  readonly clock: Clock;
  readonly refusals: RefusalAudit;
  readonly clientAuthority: Pick<ClientAuthority, 'certificates'>;
  readonly clientCertificates: ClientCertificateSettings;
}

export interface ClientCertificateSettings {
  /** PEM of further authorities that client certificates may be of. */
  readonly authorities: readonly string[];
  /** A header that holds the client's certificate, in lower case, and the addresses or CIDRs it is taken from. */
  readonly header?: { readonly name: string; readonly from: readonly string[] };
}

/** No further authorities and no header: only certificates of native TLS, signed by the control plane itself. */
export const NO_CLIENT_CERTIFICATE_SETTINGS: ClientCertificateSettings = { authorities: [] };

/**
 * Client certificates, of this server's own TLS or of a trusted proxy's header. One that verifies and names the cluster of
 * the token certifies the request; one that names another cluster is refused; any other counts as none.
 */
export class ClientCertificates {
  readonly #deps: ClientCertificatesDeps;
  readonly #proxies: BlockList;
  readonly #configured: readonly X509Certificate[];
  readonly #read = new Map<string, ClientCertificate | null>();
  #own: { readonly at: number; readonly list: Promise<readonly X509Certificate[]> } | undefined;

  constructor(deps: ClientCertificatesDeps) {
    this.#deps = deps;
    this.#configured = deps.clientCertificates.authorities.map((pem) => new X509Certificate(pem));
    this.#proxies = blockList(deps.clientCertificates.header?.from ?? []);
  }

  /**
   * Call behind authentication.
   *
   * @throws AppError `cluster_mismatch`, audited, for a certificate of another cluster than the token's
   */
  async check(request: FastifyRequest): Promise<void> {
    const presented = this.#presented(request);
    if (presented === undefined || presented.clusterIds.length === 0) return;
    if (!(await this.#isVerified(request, presented))) return;
    const { cluster } = agentOf(request);
    const other = presented.clusterIds.find((id) => id !== cluster.id);
    if (other !== undefined) {
      await this.#deps.refusals.record(cluster, {
        kind: 'ClusterMismatch',
        summary: `the credential of ${cluster.slug} was presented with the client certificate of ${other}`,
        reason: 'cluster_mismatch',
      });
      throw new AppError('cluster_mismatch', 'the client certificate is of another cluster than the token');
    }
    request.isCertified = true;
    const { credentialId, wasCertified } = agentOf(request);
    if (wasCertified) return;
    await this.#deps.store.write(async (trx) => {
      await markAgentCredentialCertified(trx, credentialId, this.#deps.clock.now().toISOString());
    });
  }

  /** From a trusted proxy the header alone counts: the certificate of that connection is the proxy's own. */
  #presented(request: FastifyRequest): ClientCertificate | undefined {
    const { header } = this.#deps.clientCertificates;
    if (header !== undefined && this.#isTrustedProxy(request)) {
      const value = request.headers[header.name];
      return typeof value === 'string' ? this.#readHeader(value) : undefined;
    }
    const { socket } = request;
    if (!(socket instanceof TLSSocket)) return undefined;
    const raw = socket.getPeerX509Certificate()?.raw;
    return raw === undefined ? undefined : this.#remember(raw.toString('base64'), () => readClientCertificate(raw));
  }

  #readHeader(value: string): ClientCertificate | undefined {
    return this.#remember(value, () => {
      const der = certificateIn(value);
      return der === undefined ? undefined : readClientCertificate(der);
    });
  }

  #remember(key: string, read: () => ClientCertificate | undefined): ClientCertificate | undefined {
    const known = this.#read.get(key);
    if (known !== undefined) return known ?? undefined;
    const certificate = read();
    if (this.#read.size >= MAX_READ) this.#read.clear();
    this.#read.set(key, certificate ?? null);
    return certificate;
  }

  async #isVerified(request: FastifyRequest, { certificate }: ClientCertificate): Promise<boolean> {
    const now = this.#deps.clock.now();
    if (!isWithinValidity(certificate, now) || !isForClients(certificate)) return false;
    if (isSignedByOneOf(certificate, this.#configured, now)) return true;
    if (isSignedByOneOf(certificate, await this.#ownAuthorities(), now)) return true;
    // By way of an intermediate that the client sent: OpenSSL has found the way.
    const { socket } = request;
    return !this.#isTrustedProxy(request) && socket instanceof TLSSocket && socket.authorized;
  }

  async #ownAuthorities(): Promise<readonly X509Certificate[]> {
    const now = this.#deps.clock.now().getTime();
    if (this.#own === undefined || now - this.#own.at >= AUTHORITIES_FOR_MS) {
      const list = this.#deps.clientAuthority
        .certificates()
        .then((pems) => pems.map((pem) => new X509Certificate(pem)));
      this.#own = { at: now, list };
      list.catch(() => {
        this.#own = undefined;
      });
    }
    return await this.#own.list;
  }

  #isTrustedProxy(request: FastifyRequest): boolean {
    if (this.#deps.clientCertificates.header === undefined) return false;
    const address = request.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '');
    return address !== undefined && this.#proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }
}

function blockList(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of addresses) {
    const [address = '', bits] = text.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}
