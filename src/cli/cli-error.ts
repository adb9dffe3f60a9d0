/** Exit statuses of `servicectl`. */
export const EXIT = {
  /** A control plane or a cluster refused, or did not answer. */
  failed: 1,
  /** The command line says something that cannot be done. */
  usage: 2,
  /** What was waited for had not come about when the time was up, and goes on. */
  notReady: 3,
} as const;

/** Why a command ended. Printed as one line, and after it what to run next. */
export class CliError extends Error {
  readonly exitCode: (typeof EXIT)[keyof typeof EXIT];
  readonly next: string | undefined;

  constructor(exitCode: (typeof EXIT)[keyof typeof EXIT], message: string, next?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CliError';
    this.exitCode = exitCode;
    this.next = next;
  }
}
