import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../protocol/app-error.ts';
import type { Clock } from '../runtime/clock.ts';

export const INSTALL_LINK_LIFETIME_SECONDS = 15 * 60;

/** What an installation's links lead to. None of it is secret; the signature keeps strangers from reading which clusters there are. */
export const INSTALL_PATHS = { crds: '/install/crds.yaml', operator: '/install/operator.yaml' } as const;
export type InstallPath = (typeof INSTALL_PATHS)[keyof typeof INSTALL_PATHS];

export interface InstallLinksDeps {
  /** 32 bytes, the same after a restart. */
  readonly key: Uint8Array;
  readonly clock: Clock;
  /** Where clients reach this control plane, without a slash at its end. */
  readonly baseUrl: () => string;
}

export interface SignedQuery {
  readonly cluster: string;
  /** Unix seconds. */
  readonly expires: number;
  /** 32 bytes in base64url. */
  readonly signature: string;
}

/** Makes and checks links that open one file about one cluster for a short time, without a credential. */
export class InstallLinks {
  readonly #deps: InstallLinksDeps;

  constructor(deps: InstallLinksDeps) {
    this.#deps = deps;
  }

  /** Links for one cluster, good for `lifetimeSeconds`. */
  issue(
    clusterId: string,
    lifetimeSeconds: number,
  ): { readonly crdsUrl: string; readonly operatorUrl: string; readonly expiresAt: string } {
    const expires = Math.floor(this.#deps.clock.now().getTime() / 1000) + lifetimeSeconds;
    const link = (path: InstallPath): string => {
      const query = new URLSearchParams({
        cluster: clusterId,
        expires: String(expires),
        signature: this.#signature(path, clusterId, expires),
      });
      return `${this.#deps.baseUrl()}${path}?${query.toString()}`;
    };
    return {
      crdsUrl: link(INSTALL_PATHS.crds),
      operatorUrl: link(INSTALL_PATHS.operator),
      expiresAt: new Date(expires * 1000).toISOString(),
    };
  }

  /** @throws AppError `invalid_signature`, and `expired_token` for a link of ours that is too old */
  verify(path: InstallPath, { cluster, expires, signature }: SignedQuery): void {
    const expected = Buffer.from(this.#signature(path, cluster, expires));
    const given = Buffer.from(signature);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new AppError(
        'invalid_signature',
        'this link was altered, or another control plane made it; take it whole, in quotes, or make a new one: servicectl clusters install-command <cluster>',
      );
    }
    if (expires * 1000 <= this.#deps.clock.now().getTime()) {
      throw new AppError(
        'expired_token',
        `this link worked until ${new Date(expires * 1000).toISOString()}; make a new one: servicectl clusters install-command <cluster>`,
      );
    }
  }

  #signature(path: InstallPath, clusterId: string, expires: number): string {
    return createHmac('sha256', this.#deps.key).update(`v1\n${path}\n${clusterId}\n${expires}`).digest('base64url');
  }
}
