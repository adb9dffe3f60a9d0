import { describe, expect, it } from 'vitest';
import { StatusError } from '../../../src/sandbox/status-error.ts';
import { applyJob, JobStage } from './job-stage.ts';

describe('an ack that is refused', () => {
  it.each([
    ['400', 'constraint_violated'],
    ['406', 'not_acceptable'],
    ['413', 'payload_too_large'],
    ['415', 'unsupported_media_type'],
  ] as const)('with %s is not sent again: nothing is applied, and the job ends as failed', async (_, code) => {
    await using stage = await JobStage.start();
    const { plane, world } = stage;
    let acks = 0;
    plane.intercept = ({ path }, response) => {
      if (!path.endsWith('/j1/ack')) return false;
      acks += 1;
      plane.refuse(response, code, 'not this one');
      return true;
    };
    plane.queue.put(applyJob('j1'));
    expect(await stage.result('j1')).toBe(`failed: its ack was refused, so it was not applied: ${code}: not this one`);
    const told = await world.until('JobReportRefused', 'True', 'ReportRefused');
    expect(told.message).toBe(`the control plane refused the ack of job j1 for good: ${code}: not this one`);
    await expect.poll(async () => await stage.journal(), { timeout: 30_000 }).toEqual([]);
    expect([acks, await stage.instance()]).toEqual([1, undefined]);
  });

  it('of a job whose result is refused too, and which is offered for ever, holds up neither its object nor others', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { plane } = stage;
    const refused: string[] = [];
    plane.intercept = ({ path }, response) => {
      if (!path.includes('/j1/')) return false;
      refused.push(path.replace(/^.*\//, ''));
      plane.refuse(response, 'constraint_violated', 'not this one');
      return true;
    };
    plane.queue.put(applyJob('j1'));
    await expect.poll(() => refused, { timeout: 30_000 }).toEqual(['ack', 'result']);
    await expect.poll(async () => await stage.journal(), { timeout: 30_000 }).toEqual([]);
    plane.queue.put(applyJob('j2', { source: '1.2', version: '6.6.1' }), applyJob('j3', { name: 'other' }));
    expect([await stage.result('j2'), await stage.result('j3')]).toEqual(['succeeded', 'succeeded']);
    plane.queue.put(applyJob('j4', { name: 'third' }));
    expect(await stage.result('j4')).toBe('succeeded');
    expect(refused).toEqual(['ack', 'result']);
    // Each is answered with j1 at once.
    expect(plane.queue.waits.length).toBeLessThan(20);
  });
});

it('Synced says of a job that came that its ack is not taken yet', async () => {
  await using stage = await JobStage.start({ withReleases: true });
  const { plane, world } = stage;
  let isAway = true;
  plane.intercept = ({ path }, response) => {
    if (!isAway || !path.endsWith('/j1/ack')) return false;
    plane.answer(response, 503, { error: 'unavailable', message: 'later', requestId: 'r' });
    return true;
  };
  plane.queue.put(applyJob('j1'));
  const told = await world.until('Synced', 'False', 'NotAcknowledged');
  expect(told.message).toMatch(
    /^1 of 1 open jobs not applied: applicationinstance\/shop\/podinfo@1: NotAcknowledged: its ack is not taken yet: .+/,
  );
  isAway = false;
  expect(await stage.result('j1')).toBe('succeeded');
  await world.until('Synced', 'True', 'Applied');
});

it('Synced says that jobs cannot be taken where the journal cannot be written', async () => {
  await using stage = await JobStage.start({ withReleases: true });
  const { plane, world } = stage;
  const { faults } = world.cluster.sandbox;
  const message = 'secrets "service-operator-job-00" is forbidden: User "x" cannot patch resource "secrets"';
  faults.add({
    match: ({ path, method }) => method === 'PATCH' && path.includes('/secrets/service-operator-job-'),
    respond: new StatusError(403, 'Forbidden', message),
  });
  plane.queue.put(applyJob('j1'));
  const told = await world.until('Synced', 'False', 'JobsNotKept');
  expect(told.message).toContain('the job journal cannot be read or written, and no job is taken before: ');
  expect(told.message).toContain(message);
  expect(plane.queue.said).toEqual([]);
  faults.clear();
  expect(await stage.result('j1')).toBe('succeeded');
  await world.until('Synced', 'True', 'Applied');
});
