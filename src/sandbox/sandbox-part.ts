import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';

/** What a part of the sandbox needs that comes up after its API server. */
export interface SandboxPartDeps {
  readonly logger: Logger;
  readonly clock: Clock;
  /** Ends the wait for it to be up. */
  readonly signal?: AbortSignal;
}
