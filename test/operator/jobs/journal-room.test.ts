import { expect, it } from 'vitest';
import { JOURNAL_SLOTS } from '../../../src/operator/jobs/job-journal.ts';
import { applyJob, JobStage } from './job-stage.ts';

it('a full journal stops the polls; room in it brings what is left', { timeout: 60_000 }, async () => {
  await using stage = await JobStage.start();
  const { plane } = stage;
  // Their namespace is not there, so each of them waits in the journal.
  const many = Array.from({ length: JOURNAL_SLOTS + 5 }, (_, index) =>
    applyJob(
      `j${index}`,
      { name: `app-${index}`, namespace: 'missing' },
      { idempotencyKey: `x/missing/app-${index}@1` },
    ),
  );
  plane.configure({ allowed_namespaces: ['shop', 'missing'] });
  plane.queue.put(...many);
  await expect
    .poll(() => [...plane.queue.jobs.values()].filter(({ acks }) => acks.length > 0).length, { timeout: 20_000 })
    .toBe(JOURNAL_SLOTS);
  const polls = plane.queue.waits.length;
  plane.queue.wake();
  await expect.poll(async () => (await stage.journal()).length).toBe(JOURNAL_SLOTS);
  expect(plane.queue.waits.length).toBe(polls);
  // Not allowed any more, they end.
  plane.configure({ allowed_namespaces: ['shop'] });
  await expect
    .poll(() => [...plane.queue.jobs.values()].filter(({ results }) => results.length > 0).length, { timeout: 30_000 })
    .toBe(JOURNAL_SLOTS + 5);
  await expect.poll(async () => (await stage.journal()).length, { timeout: 10_000 }).toBe(0);
});
