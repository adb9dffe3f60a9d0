/**
 * Why a chart's versions did not come. `message` is for people, and holds nothing that a registry said in its own words: it
 * may be an inner server's.
 */
export class RegistryFault extends Error {
  readonly kind: FaultKind;
  /** What the registry asked to wait. */
  readonly retryAfterMs: number | undefined;

  /** Its port answers in something else. */
  readonly speaksNoTls: boolean;

  constructor(
    kind: FaultKind,
    message: string,
    options: ErrorOptions & { readonly retryAfterMs?: number; readonly speaksNoTls?: boolean } = {},
  ) {
    super(message, options);
    this.name = 'RegistryFault';
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.speaksNoTls = options.speaksNoTls ?? false;
  }
}

/**
 * - `down`: no connection, no answer in time, 5xx: the host as a whole, for now
 * - `limited`: 429
 * - `refused`: it wants a credential, or another one, or has no such chart
 * - `unusable`: what it answers, or where it is, cannot be used
 */
type FaultKind = 'down' | 'limited' | 'refused' | 'unusable';
