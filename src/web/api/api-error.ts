/** One fault of a request: where it is in the body, and what would be taken instead. */
export interface Fault {
  readonly path: string;
  readonly message: string;
  readonly allowed?: unknown;
}

/** Of every refusal. */
export interface ErrorBody {
  readonly error?: string;
  readonly message?: string;
  readonly requestId?: string;
  readonly faults?: readonly Fault[];
}

/** What the control plane refused, in its own words. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly faults: readonly Fault[];
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, body: ErrorBody, retryAfterSeconds?: number) {
    super(body.message ?? `the control plane answered ${status}`);
    this.name = 'ApiError';
    this.status = status;
    this.code = body.error ?? '';
    this.requestId = body.requestId;
    this.faults = body.faults ?? [];
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Nothing answered, or something between that is not the control plane. */
export class OfflineError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OfflineError';
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
