import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { fitResult, fitStatus, fitText } from '../../../src/operator/jobs/fit-report.ts';
import { JobResult, JobStatus, MAX_JOB_BODY_BYTES } from '../../../src/protocol/job.ts';
import { compileParser } from '../../../src/protocol/parse.ts';

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value), 'utf8');

describe('A12: what is reported of a job', () => {
  it('that is too large is cut with its size and hash, and fits', () => {
    const message = 'é'.repeat(100_000);
    const conditions = Array.from({ length: 70 }, (_, index) => ({
      type: `T${index}`,
      status: 'True' as const,
      message,
    }));
    const status = fitStatus({ phase: 'Reconciling', conditions, message });
    expect(() => compileParser(JobStatus)(status)).not.toThrow();
    expect(bytes(status)).toBeLessThanOrEqual(MAX_JOB_BODY_BYTES);
    const digest = createHash('sha256').update(message, 'utf8').digest('hex');
    expect(status.message).toMatch(new RegExp(`^é+… \\(cut; 200000 bytes, sha256 ${digest}\\)$`));
    expect(status.conditions).toHaveLength(64);
    expect(status.conditions?.[0]?.message).toContain(digest);
  });

  it('that fits is left as it is', () => {
    const status = { phase: 'Reconciling', conditions: [{ type: 'Ready', status: 'False' as const, message: 'a' }] };
    expect(fitStatus(status)).toEqual(status);
    const result = { outcome: 'failed' as const, error: 'x'.repeat(32_768) };
    expect(fitResult(result)).toEqual(result);
  });

  it('is taken by its schema as a result too', () => {
    const result = fitResult({ outcome: 'failed', error: '\ud800'.repeat(50_000) });
    expect(() => compileParser(JobResult)(result)).not.toThrow();
    expect(result.error?.isWellFormed()).toBe(true);
  });

  it('is cut between no two halves of a character', () => {
    const text = fitText('😀'.repeat(200), 201);
    expect(text.length).toBeLessThanOrEqual(201);
    expect(text.isWellFormed()).toBe(true);
  });
});
