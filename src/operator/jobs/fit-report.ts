import { createHash } from 'node:crypto';
import type { Condition } from '../../protocol/condition.ts';
import { MAX_JOB_BODY_BYTES, type JobResult, type JobStatus } from '../../protocol/job.ts';

/** Longest text of the protocol's schemas, in UTF-16 units. */
const MAX_TEXT = 32_768;
const MAX_REASON = 1024;
const MAX_CONDITIONS = 64;
/** Room below the limit for what the wire adds. */
const MAX_BYTES = MAX_JOB_BODY_BYTES - 4096;
/** Tried in turn until all of it fits. */
const TEXT_LIMITS = [MAX_TEXT, 8192, 1024, 256];

/**
 * The status as it may be sent: texts that are too long are cut and end with the size and SHA-256 of the whole, so that a
 * reader sees that something is missing and can tell two of them apart.
 */
export function fitStatus(status: JobStatus): JobStatus {
  const conditions = status.conditions?.slice(0, MAX_CONDITIONS);
  return firstThatFits((limit) => ({
    ...status,
    ...(conditions === undefined ? {} : { conditions: conditions.map((condition) => fitCondition(condition, limit)) }),
    ...(status.message === undefined ? {} : { message: fitText(status.message, limit) }),
  }));
}

export function fitResult(result: JobResult): JobResult {
  return firstThatFits((limit) => ({
    ...result,
    ...(result.error === undefined ? {} : { error: fitText(result.error, limit) }),
  }));
}

/** At most `limit` UTF-16 units. */
export function fitText(text: string, limit: number): string {
  if (text.length <= limit) return text.toWellFormed();
  const digest = createHash('sha256').update(text, 'utf8').digest('hex');
  const note = `… (cut; ${Buffer.byteLength(text, 'utf8')} bytes, sha256 ${digest})`;
  return `${text.slice(0, Math.max(0, limit - note.length))}${note}`.toWellFormed();
}

function fitCondition(condition: Condition, limit: number): Condition {
  const { reason, message } = condition;
  return {
    ...condition,
    ...(reason === undefined ? {} : { reason: fitText(reason, Math.min(limit, MAX_REASON)) }),
    ...(message === undefined ? {} : { message: fitText(message, limit) }),
  };
}

function firstThatFits<T>(make: (limit: number) => T): T {
  const made = TEXT_LIMITS.map(make);
  const fits = made.find((body) => Buffer.byteLength(JSON.stringify(body), 'utf8') <= MAX_BYTES);
  return fits ?? make(TEXT_LIMITS.at(-1) ?? 0);
}
