import { pino, type Logger } from 'pino';

export type { Logger };

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Structured log on standard error, one JSON object a line. Secrets are redacted by type (`Secret`), not by path. A line names what it is about by `name`. */
export function createLogger(program: string, level: LogLevel): Logger {
  return pino({ level, base: { program } }, pino.destination({ dest: 2, sync: true }));
}
