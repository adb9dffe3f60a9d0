import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { CHECKS } from './checks.ts';
import { printFinding } from './print-report.ts';
import { runChecks } from './run-checks.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  // With the limits that a control plane has by default: the suite has to live with them.
  plane = await RunningControlPlane.start(undefined, { SERVICE_RATE_LIMIT_EVENTS: '100' });
});

afterAll(async () => {
  await plane[Symbol.asyncDispose]();
});

async function newRegistrationToken(slug: string): Promise<string> {
  const id = await plane.newCluster(slug, { allowedCatalogEntries: [], connectivityMode: 'pull' });
  const { body } = await plane.call('POST', `/clusters/${id}/registration-token`);
  return String(body['registrationToken']);
}

describe('the control plane', () => {
  it('keeps every rule of the protocol that the conformance suite knows', { timeout: 90_000 }, async () => {
    const registrationToken = await newRegistrationToken('conforming');
    const { findings, left } = await runChecks({ url: plane.url, registrationToken, adminToken: plane.token }, CHECKS);
    expect(findings.filter(({ verdict }) => verdict !== 'pass').map(printFinding)).toEqual([]);
    expect(findings.map(({ id }) => id)).toEqual(CHECKS.map(({ id }) => id));
    expect(left).toEqual([]);
    const seconds = findings.reduce((sum, { ms }) => sum + ms, 0) / 1000;
    expect(seconds).toBeLessThan(60);
  });
});
