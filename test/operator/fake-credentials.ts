import { AppError } from '../../src/protocol/app-error.ts';
import { encryptTo } from '../../src/protocol/jwe.ts';
import type { PublicJwk } from '../../src/protocol/register.ts';

/** The bearer tokens of one cluster, with rotation and grace as the decisions have them. */
export class FakeCredentials {
  /** The cluster's public key as it was sent last. */
  publicKey: PublicJwk | undefined;
  /** What the next recovered credential says it is for. */
  audience: string | undefined;
  /** Each certificate request, in order. */
  readonly requests: string[] = [];
  readonly #accepted: Set<string>;
  readonly #used = new Set<string>();
  readonly #successors = new Map<string, string>();
  #minted = 0;

  constructor(accepted: Set<string>) {
    this.#accepted = accepted;
  }

  /** A new token, beside those that are accepted already. */
  mint(body: unknown): string {
    const { public_key: key, csr } = (body ?? {}) as { public_key?: PublicJwk; csr?: string };
    if (key !== undefined) this.publicKey = key;
    if (csr !== undefined) this.requests.push(csr);
    this.#minted += 1;
    const token = `svcagt_${this.#minted}`;
    this.#accepted.add(token);
    return token;
  }

  use(token: string): void {
    this.#used.add(token);
  }

  rotate(token: string, body: unknown): string {
    const earlier = this.#successors.get(token);
    if (earlier !== undefined && this.#used.has(earlier)) {
      throw new AppError('already_rotated', 'its replacement is in use; read the Secret again');
    }
    if (earlier !== undefined) this.#accepted.delete(earlier);
    const next = this.mint(body);
    this.#successors.set(token, next);
    return next;
  }

  async recover(): Promise<{ readonly token_jwe: string }> {
    if (this.publicKey === undefined) throw new AppError('forbidden', 'no credential is recovered for this cluster');
    const extra = this.audience === undefined ? {} : { aud: this.audience };
    return { token_jwe: await encryptTo(this.publicKey, this.mint(undefined), extra) };
  }
}
