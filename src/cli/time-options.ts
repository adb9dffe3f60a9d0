import { InvalidArgumentError, Option } from 'commander';
import { durationIn } from './operation-parameters.ts';

/** `--since`: a time, or so long ago. Read as a time when the command runs. */
export function sinceOption(what = 'asked for then or later'): Option {
  return timeOption('--since', what);
}

export function untilOption(what: string): Option {
  return timeOption('--until', what);
}

/** RFC 3339, as the admin API takes it. */
export function timeIn(text: string | undefined, now: Date): string | undefined {
  if (text === undefined) return undefined;
  const isTime = /^\d{4}-/.test(text);
  const at = isTime ? new Date(text) : new Date(now.getTime() - durationIn(text) * 1000);
  return at.toISOString();
}

function timeOption(flag: string, what: string): Option {
  return new Option(
    `${flag} <time>`,
    `${what}: 2026-11-29, 2026-11-29T10:00:00Z, or so long ago, such as 2h`,
  ).argParser((text: string) => {
    const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
    if (isTime && !Number.isNaN(Date.parse(text))) return text;
    if (/^\d{1,9}[smhd]$/.test(text)) return text;
    throw new InvalidArgumentError('It is a time such as 2026-11-29T10:00:00Z, or how long ago: 30m, 2h, 7d.');
  });
}
