import type { Secret } from '../../runtime/secret.ts';

/** How native git and ssh reach a host: what the other half of the program does by its own connections. */
export interface NativeLink {
  /** PEM roots of the host's certificate, and no others; absent: the system's. */
  readonly caCertificate?: string;
  /** The way out; may hold a user name and a password. */
  readonly proxyUrl?: Secret;
  /**
   * The address that a host's name may be called at, so that it cannot resolve to another one in between; undefined: as
   * the system resolves it.
   *
   * @throws Error with words for people where it may not be called
   */
  readonly resolve?: (hostname: string) => Promise<string | undefined>;
}
