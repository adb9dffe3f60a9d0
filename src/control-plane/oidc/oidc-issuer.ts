import { createLocalJWKSet, errors, type FlattenedJWSInput, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import { AppError } from '../../protocol/app-error.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { discoveryAddress, readMetadata, type Metadata } from './discovery.ts';
import { JsonReader } from './read-json.ts';

/** After which keys are read again: one that was taken back counts for no longer than that. */
const KEYS_FRESH_MS = 300_000;
const METADATA_FRESH_MS = 3_600_000;
/** Tokens that name unknown keys cost the issuer no more than one request in this time. */
const UNKNOWN_KEY_PAUSE_MS = 30_000;
const RETRY = { minMs: 1000, maxMs: 30_000 } as const;

export interface OidcIssuerDeps {
  readonly issuer: string;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

type Keys = ReturnType<typeof createLocalJWKSet>;

/**
 * What an issuer publishes: where to sign in, and by which keys to know its tokens. Read when first needed and again when it
 * is old, which is waited for; where that fails, what there is goes on counting. A key that is not known is
 * looked for again at most every 30 s, so that new ones count at once and made-up ones cost nothing.
 */
export class OidcIssuer implements AsyncDisposable {
  readonly #deps: OidcIssuerDeps;
  readonly #reader = new JsonReader();
  readonly #stop = new AbortController();
  #metadata: { readonly value: Metadata; readonly at: number } | undefined;
  #keys: { readonly value: Keys; readonly at: number } | undefined;
  #reading: Promise<void> | undefined;
  #startedAt = 0;
  #failures = 0;
  #nextAt = 0;
  #fault = '';

  constructor(deps: OidcIssuerDeps) {
    this.#deps = deps;
  }

  /** @throws AppError `unavailable` while nothing is known of the issuer */
  async metadata(): Promise<Metadata> {
    if (this.#metadata === undefined || this.#age(this.#metadata.at) > METADATA_FRESH_MS) await this.#refreshIfDue();
    if (this.#metadata === undefined) throw this.#unavailable();
    return this.#metadata.value;
  }

  /**
   * The key that a token names, as `jose` asks for it.
   *
   * @throws AppError `unavailable` while there are no keys at all; `jose`'s own error where there is no such key
   */
  async key(header: JWSHeaderParameters, token: FlattenedJWSInput): ReturnType<Keys> {
    if (this.#keys === undefined) await this.#refreshIfDue();
    else if (this.#age(this.#keys.at) > KEYS_FRESH_MS) {
      // One of them may have been taken back. While the issuer is down nobody waits again for what failed just now.
      const isDown = this.#failures > 0 && this.#age(this.#startedAt) <= KEYS_FRESH_MS;
      const read = this.#refreshIfDue();
      if (!isDown) await read;
    }
    if (this.#keys === undefined) throw this.#unavailable();
    try {
      return await this.#keys.value(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (this.#reading === undefined && this.#age(this.#startedAt) < UNKNOWN_KEY_PAUSE_MS) throw error;
      await this.#refreshIfDue();
      // It may be a new one, of which nobody can be asked.
      if (this.#failures > 0) throw this.#unavailable();
      return await this.#keys.value(header, token);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the control plane is stopping'));
    await this.#reading;
    await this.#reader[Symbol.asyncDispose]();
  }

  /** Reads once for all who wait, and after a failure not before its pause is over. Never rejects. */
  async #refreshIfDue(): Promise<void> {
    if (this.#reading === undefined) {
      if (this.#now() < this.#nextAt) return;
      this.#startedAt = this.#now();
      this.#reading = this.#read().finally(() => (this.#reading = undefined));
    }
    await this.#reading;
  }

  async #read(): Promise<void> {
    const { issuer, random, logger } = this.#deps;
    try {
      if (this.#metadata === undefined || this.#age(this.#metadata.at) > METADATA_FRESH_MS) {
        const document = await this.#reader.read(discoveryAddress(issuer), this.#stop.signal);
        this.#metadata = { value: readMetadata(document, issuer), at: this.#now() };
      }
      const keys = await this.#reader.read(this.#metadata.value.jwks_uri, this.#stop.signal);
      this.#keys = { value: createLocalJWKSet(keys as JSONWebKeySet), at: this.#now() };
      this.#failures = 0;
      this.#nextAt = 0;
    } catch (error) {
      this.#failures += 1;
      this.#nextAt = this.#now() + backoffMs(RETRY, this.#failures, random);
      this.#fault = error instanceof Error ? error.message : String(error);
      if (this.#stop.signal.aborted) return;
      logger.warn({ err: error, issuer, attempt: this.#failures }, 'the identity provider could not be read');
    }
  }

  #unavailable(): AppError {
    const retryAfterSeconds = Math.max(1, Math.ceil((this.#nextAt - this.#now()) / 1000));
    const message = `the identity provider ${this.#deps.issuer} cannot be asked for its keys (${this.#fault}); try again, or come in with a token of the control plane`;
    return new AppError('unavailable', message, { retryAfterSeconds });
  }

  #now(): number {
    return this.#deps.clock.now().getTime();
  }

  #age(at: number): number {
    return this.#now() - at;
  }
}
