import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { CHECKS } from './checks.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import { FAULTS } from './faults.ts';
import { runChecks } from './run-checks.ts';

let plane: RunningControlPlane;
let proxy: FaultyProxy;
let made = 0;

beforeAll(async () => {
  plane = await RunningControlPlane.start(undefined, {
    SERVICE_RATE_LIMIT_REGISTER: '10000',
    SERVICE_RATE_LIMIT_EVENTS: '100',
  });
  proxy = await FaultyProxy.start(plane.url);
});

afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
});

async function verdicts(ids: readonly string[]): Promise<Record<string, string>> {
  made += 1;
  const id = await plane.newCluster(`faulty-${made}`, { allowedCatalogEntries: [], connectivityMode: 'pull' });
  const { body } = await plane.call('POST', `/clusters/${id}/registration-token`);
  const target = { url: proxy.url, registrationToken: String(body['registrationToken']), adminToken: plane.token };
  const { findings } = await runChecks(
    target,
    CHECKS.filter((check) => ids.includes(check.id)),
  );
  return Object.fromEntries(findings.map((finding) => [finding.id, finding.verdict]));
}

describe('the conformance suite', () => {
  it.each(FAULTS)('sees a control plane $title', async (fault) => {
    proxy.fault = fault;
    expect(await verdicts(fault.breaks)).toEqual(Object.fromEntries(fault.breaks.map((id) => [id, 'fail'])));
  });

  it('has a fault for every check, so that each can fail', () => {
    const broken = new Set(FAULTS.flatMap(({ breaks }) => breaks));
    const known = CHECKS.map(({ id }) => id);
    expect(known.filter((id) => !broken.has(id))).toEqual([]);
    expect([...broken].filter((id) => !known.includes(id))).toEqual([]);
  });

  it('names each check once', () => {
    expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
  });
});
