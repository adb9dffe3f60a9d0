import { describe, expect, it } from 'vitest';
import { applyJob, deleteJob, JobStage } from './job-stage.ts';

describe('A11: results that cannot be delivered', () => {
  it('are kept over a restart of the operator, sent again, and recorded once', { timeout: 90_000 }, async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { plane } = stage;
    const refused: string[] = [];
    plane.intercept = ({ path }, response) => {
      if (!path.endsWith('/result')) return false;
      refused.push(path);
      plane.answer(response, 503, { error: 'unavailable', message: 'the store is away', requestId: 'r' });
      return true;
    };
    plane.queue.put(applyJob('j1'), applyJob('j2', { name: 'second' }));
    await expect.poll(() => new Set(refused).size, { timeout: 15_000 }).toBe(2);
    await stage.stop();
    expect(await stage.journal()).toHaveLength(2);
    await stage.begin();
    const before = refused.length;
    await expect.poll(() => refused.length, { timeout: 15_000 }).toBeGreaterThan(before);
    plane.intercept = () => false;
    // The pause after the refusals may have grown to half a minute.
    expect(await stage.result('j1', 35_000)).toBe('succeeded');
    expect(await stage.result('j2', 35_000)).toBe('succeeded');
    await expect.poll(async () => await stage.journal(), { timeout: 30_000 }).toEqual([]);
    expect(plane.queue.said.filter((said) => said.startsWith('result'))).toHaveLength(2);
  });
});

describe('A15: a control plane that is away', () => {
  it('holds up no job that came before, and hears of each in order afterwards', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { plane, world } = stage;
    const port = Number(new URL(plane.url).port);
    const held = Promise.withResolvers<void>();
    plane.intercept = ({ path }, response) => {
      if (!path.includes('/status') && !path.includes('/result')) return false;
      held.resolve();
      response.destroy();
      return true;
    };
    plane.queue.put(applyJob('j1'));
    await held.promise;
    await plane.close();
    plane.intercept = () => false;
    await world.until('Connected', 'False', 'ControlPlaneUnreachable');
    // What was asked for finishes meanwhile.
    await expect
      .poll(async () => JSON.stringify((await stage.instance())?.['status']), { timeout: 15_000 })
      .toContain('"HelmReleaseReady"');
    expect((await stage.journal()).length).toBe(1);
    await stage.stop();
    await stage.begin();
    await plane.listen(port);
    expect(await stage.result('j1')).toBe('succeeded');
    const said = plane.queue.said.filter((each) => !each.startsWith('ack'));
    expect(said.at(-1)).toBe('result j1 succeeded');
    expect(said.filter((each) => each.startsWith('result'))).toHaveLength(1);
    await world.until('Connected', 'True', 'ControlPlaneReachable');
  });
});

describe('A3: acks', () => {
  it('do not wait behind statuses, results and events that the control plane does not take', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { plane } = stage;
    const stuck = new Set<string>();
    plane.intercept = ({ path }) => {
      // Never answered.
      if (!path.endsWith('/events') && !path.endsWith('/status') && !path.endsWith('/result')) return false;
      stuck.add(path);
      return true;
    };
    const first = Array.from({ length: 20 }, (_, index) => applyJob(`a${index}`, { name: `a${index}` }));
    plane.queue.put(...first);
    await expect.poll(() => stuck.size, { timeout: 15_000 }).toBeGreaterThan(5);
    plane.queue.put(applyJob('late', { name: 'late' }));
    // Below the 10 s after which the operator gives up a call that nobody answers.
    await expect.poll(() => plane.queue.get('late').acks.length, { timeout: 9000 }).toBe(1);
    await expect.poll(async () => await stage.instance('late'), { timeout: 9000 }).toBeDefined();
  });
});

describe('a control plane that answers about a job', () => {
  it.each([
    ['404 to the ack', '/ack', 'job_not_found'],
    ['409 to the ack', '/ack', 'job_closed'],
  ] as const)('%s: is believed, nothing is applied, and the job leaves the journal', async (_, ending, code) => {
    await using stage = await JobStage.start();
    const { plane } = stage;
    let answered = 0;
    plane.intercept = ({ path }, response) => {
      if (!path.endsWith(`/j1${ending}`)) return false;
      answered += 1;
      plane.queue.jobs.delete('j1');
      plane.refuse(response, code, 'it is over');
      return true;
    };
    plane.queue.put(applyJob('j1'));
    await expect.poll(() => answered, { timeout: 30_000 }).toBe(1);
    await expect.poll(async () => await stage.journal(), { timeout: 30_000 }).toEqual([]);
    expect(await stage.instance()).toBeUndefined();
  });

  it.each([
    ['400', 'constraint_violated'],
    ['413', 'payload_too_large'],
  ] as const)('%s to a result: is told in a condition, and the job leaves the journal', async (_, code) => {
    await using stage = await JobStage.start({ withReleases: true });
    const { plane, world } = stage;
    plane.intercept = ({ path }, response) => {
      if (!path.endsWith('/j1/result')) return false;
      plane.refuse(response, code, 'appliedRef is not taken');
      return true;
    };
    plane.queue.put(applyJob('j1'));
    const told = await world.until('JobReportRefused', 'True', 'ReportRefused');
    expect(told.message).toBe(
      `the control plane refused the result of job j1 for good: ${code}: appliedRef is not taken`,
    );
    await expect.poll(async () => await stage.journal(), { timeout: 30_000 }).toEqual([]);
    plane.queue.put(deleteJob('j2', 2));
    expect(await stage.result('j2')).toBe('succeeded');
    await world.until('JobReportRefused', 'False', 'ReportsTaken');
  });

  it('429: waits for as long as it says', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { plane } = stage;
    const at: number[] = [];
    plane.intercept = ({ path }, response) => {
      if (!path.endsWith('/j1/ack')) return false;
      at.push(Date.now());
      if (at.length > 1) return false;
      plane.answer(response, 429, { error: 'rate_limited', message: 'slow', requestId: 'r' }, { 'retry-after': '2' });
      return true;
    };
    plane.queue.put(applyJob('j1'));
    expect(await stage.result('j1')).toBe('succeeded');
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(2000);
  });
});
