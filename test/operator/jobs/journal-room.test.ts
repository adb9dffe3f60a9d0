import { expect, it } from 'vitest';
import { JOURNAL_SLOTS } from '../../../src/operator/jobs/job-journal.ts';
import { StatusError } from '../../../src/sandbox/status-error.ts';
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

it('what cannot be written to the journal is not acknowledged, and stays with the control plane until it can', async () => {
  await using stage = await JobStage.start({ withReleases: true });
  const { plane, world } = stage;
  const { faults } = world.cluster.sandbox;
  const message = 'secrets "service-operator-job-00" is forbidden: User "x" cannot patch resource "secrets"';
  let tries = 0;
  faults.add({
    match: ({ path, method }) => {
      const isJournal = method === 'PATCH' && path.includes('/secrets/service-operator-job-');
      if (isJournal) tries += 1;
      return isJournal;
    },
    respond: new StatusError(403, 'Forbidden', message),
  });
  plane.queue.put(applyJob('j1'));
  await expect.poll(() => tries, { timeout: 10_000 }).toBeGreaterThan(1);
  expect(plane.queue.said).toEqual([]);
  faults.clear();
  expect(await stage.result('j1')).toBe('succeeded');
});
