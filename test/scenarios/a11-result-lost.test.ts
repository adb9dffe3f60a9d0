import { expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { AbsenceStage } from './absence-stage.ts';

const MINUTE_MS = 60_000;

it(
  'A11: results that fail for ten minutes, over a restart of the operator, are kept, sent again and recorded once',
  { timeout: 90_000 },
  async () => {
    await using stage = await AbsenceStage.start('pull');
    const { plane, world, clusterId } = stage.system;
    await using proxy = await FaultyProxy.start(plane.url);
    await world.setSpec({ controlPlaneBaseUrl: proxy.url });
    await stage.system.bring({ ...INSTALL, name: 'before' }, 'ready');
    proxy.fault = ({ path }) => (path.endsWith('/result') ? { status: 502 } : undefined);
    const jobs = async (): Promise<readonly string[]> => {
      const { body } = await plane.call('GET', `/clusters/${clusterId}/jobs`);
      return (body['items'] as Record<string, string>[]).map(({ state, outcome }) => `${state} ${outcome}`).toSorted();
    };
    for (const name of ['podinfo', 'second']) {
      const accepted = await plane.call('POST', `/clusters/${clusterId}/intents`, { ...INSTALL, name });
      expect(accepted.status).toBe(202);
      await stage.untilReady(name);
    }
    await stage.pass(5 * MINUTE_MS);
    await world.restart(stage.clock);
    await world.until('ControllersHealthy', 'True', 'ControllersRunning');
    await stage.pass(5 * MINUTE_MS);
    expect(proxy.count('/result', 502)).toBeGreaterThan(4);
    expect(await jobs()).toEqual(['acknowledged undefined', 'acknowledged undefined', 'closed succeeded']);
    expect(await stage.journal()).toHaveLength(2);

    const sent = proxy.count('/result', 204);
    proxy.fault = () => undefined;
    await stage.pass(MINUTE_MS);
    await expect.poll(jobs, { timeout: 15_000 }).toEqual(Array(3).fill('closed succeeded'));
    await expect.poll(async () => await stage.journal(), { timeout: 15_000 }).toEqual([]);
    expect(proxy.count('/result', 204) - sent).toBe(2);
    expect(proxy.count('/result', 409)).toBe(0);
    expect(stage.writes(['DELETE'])).toEqual([]);
  },
);
