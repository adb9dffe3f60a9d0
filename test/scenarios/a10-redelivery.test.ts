import { expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { AbsenceStage } from './absence-stage.ts';

interface Shown {
  readonly state: string;
  readonly outcome?: string;
}

async function jobs({ system }: AbsenceStage): Promise<readonly string[]> {
  const { body } = await system.plane.call('GET', `/clusters/${system.clusterId}/jobs`);
  return (body['items'] as Shown[]).map(({ state, outcome }) => `${state} ${outcome}`);
}

it('A10: a job that is delivered five times and more has one effect and one result', { timeout: 60_000 }, async () => {
  await using stage = await AbsenceStage.start('pull');
  const { plane, world } = stage.system;
  await using proxy = await FaultyProxy.start(plane.url);
  await world.setSpec({ controlPlaneBaseUrl: proxy.url });
  stage.forgetWrites();
  // What one delivery costs.
  await stage.system.bring({ ...INSTALL, name: 'before' }, 'ready');
  const writesOf = (name: string): number =>
    stage.writes().filter((write) => write.endsWith(`instances/${name}`)).length;
  const once = writesOf('before');
  // It is offered until it is acknowledged.
  proxy.fault = ({ path }) => (path.endsWith('/ack') ? { status: 502 } : undefined);
  const polls = proxy.count('/jobs?', 200);
  await plane.call('POST', `/clusters/${stage.system.clusterId}/intents`, INSTALL);
  await expect.poll(() => proxy.count('/ack', 502), { timeout: 15_000 }).toBeGreaterThan(0);
  for (let offered = 0; offered < 5; offered = proxy.count('/jobs?', 200) - polls) await stage.pass(10_000);
  expect(await stage.system.instance('podinfo')).toBeUndefined();
  const results = proxy.count('/result', 204);
  proxy.fault = () => undefined;
  await stage.pass(60_000);
  await stage.untilReady('podinfo');
  await expect
    .poll(async () => await jobs(stage), { timeout: 15_000 })
    .toEqual(['closed succeeded', 'closed succeeded']);
  expect(proxy.count('/result', 204) - results).toBe(1);
  expect(writesOf('podinfo')).toBe(once);
  expect((await stage.system.instance('podinfo'))?.metadata.generation).toBe(1);
});

it.each([
  ['between the apply and the result', { status: 503 }],
  ['between the ack of the result and the end of its journal', 'lost'],
] as const)('A10: a crash %s leads to one effect and one result', { timeout: 60_000 }, async (_, fault) => {
  await using stage = await AbsenceStage.start('pull');
  const { plane, world } = stage.system;
  await using proxy = await FaultyProxy.start(plane.url);
  await world.setSpec({ controlPlaneBaseUrl: proxy.url });
  await world.until('Connected', 'True', 'ControlPlaneReachable');
  const struck = Promise.withResolvers<void>();
  proxy.fault = ({ path }) => {
    if (!path.endsWith('/result')) return undefined;
    struck.resolve();
    return fault;
  };
  await plane.call('POST', `/clusters/${stage.system.clusterId}/intents`, INSTALL);
  await struck.promise;
  await world.stopAll();
  const before = await stage.identities();
  proxy.fault = () => undefined;
  await world.start(stage.clock);
  await world.until('ControllersHealthy', 'True', 'ControllersRunning');
  await expect.poll(async () => await jobs(stage), { timeout: 15_000 }).toEqual(['closed succeeded']);
  await expect.poll(async () => await stage.journal(), { timeout: 15_000 }).toEqual([]);
  const answers = [proxy.count('/result', 204), proxy.count('/result', 409)];
  expect(answers).toEqual(fault === 'lost' ? [0, 1] : [1, 0]);
  expect(await stage.identities()).toEqual(before);
  expect((await stage.system.instance('podinfo'))?.metadata.generation).toBe(1);
});
