import { inspect } from 'node:util';

const REDACTED = '[REDACTED]';

/** A credential in memory. It prints, serialises and inspects as `[REDACTED]`; only `expose()` gives the value. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  expose(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
