import type { StatusError } from './status-error.ts';

export interface FaultRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly watch: boolean;
  /** Who asks, as it calls itself. */
  readonly userAgent: string | undefined;
}

/** What goes wrong with a request that matches; the first match counts. */
export interface Fault {
  readonly match: (request: FaultRequest) => boolean;
  /** How many requests it hits before it is gone; default: until removed. */
  readonly times?: number;
  /** Waits this many milliseconds before the request is looked at. */
  readonly delayMs?: number;
  /** Answers this instead of handling the request. */
  readonly respond?:
    | StatusError
    | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> };
  /** `before`: the connection is cut and nothing happens; `after`: the request is carried out and its answer lost. */
  readonly cut?: 'before' | 'after';
}

/** Faults that tests switch on. */
export class Faults {
  readonly #active: { fault: Fault; left: number }[] = [];

  /** Returns what takes it away again. */
  add(fault: Fault): () => void {
    const entry = { fault, left: fault.times ?? Infinity };
    this.#active.push(entry);
    return () => {
      entry.left = 0;
    };
  }

  clear(): void {
    this.#active.length = 0;
  }

  take(request: FaultRequest): Fault | undefined {
    const entry = this.#active.find(({ fault, left }) => left > 0 && fault.match(request));
    if (entry === undefined) return undefined;
    entry.left -= 1;
    return entry.fault;
  }
}
