import { afterAll, beforeAll, expect, test } from 'vitest';
import { METRICS } from '../../../src/control-plane/metrics/metrics.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ControlPlaneMetrics } from '../../../src/control-plane/metrics/control-plane-metrics.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  await plane.newCluster('prod-eu');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function scrape(token: string | undefined = plane.token, url = plane.url) {
  const headers = token === '' ? undefined : { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/metrics`, headers === undefined ? {} : { headers });
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
}

/** Lines of one metric. */
const linesOf = (text: string, name: string): string[] =>
  text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

test('tells of what is delivered, requested and waiting', async () => {
  const { body } = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
  await plane.until(String(body['id']), 'delivered');
  expect((await fetch(`${plane.url}/api/agent/jobs?cluster=x`)).status).toBe(401);
  const { status, type, text } = await scrape();
  expect(status).toBe(200);
  expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(linesOf(text, 'service_receipts_total')).toEqual([
    'service_receipts_total{mode="gitops",state="delivered"} 1',
  ]);
  expect(linesOf(text, 'service_delivery_duration_seconds_count')).toEqual([
    'service_delivery_duration_seconds_count{mode="gitops"} 1',
  ]);
  expect(linesOf(text, 'service_git_push_duration_seconds_count')).toEqual([
    'service_git_push_duration_seconds_count{outcome="done"} 1',
  ]);
  expect(linesOf(text, 'service_agent_requests_total')).toEqual([
    'service_agent_requests_total{method="GET",route="/api/agent/jobs",status="4xx"} 1',
  ]);
  expect(linesOf(text, 'service_clusters')).toEqual([
    'service_clusters{mode="gitops",health="unknown",connected="false"} 1',
  ]);
  expect(linesOf(text, 'service_intents')).toEqual(['service_intents{state="delivered"} 1']);
  expect(linesOf(text, 'service_oldest_waiting_intent_seconds')).toEqual(['service_oldest_waiting_intent_seconds 0']);
  expect(linesOf(text, 'service_database_up')).toEqual(['service_database_up 1']);
  expect(linesOf(text, 'service_held_polls')).toEqual(['service_held_polls 0']);
  // There is no TLS here, so there is no end of a certificate.
  expect(linesOf(text, 'service_tls_certificate_expiry_seconds')).toEqual([]);
  expect(text).toContain('service_nodejs_eventloop_lag_seconds');
});

test('names every metric of the table, and holds nothing secret', async () => {
  const { text } = await scrape();
  for (const name of Object.keys(METRICS)) expect(text).toContain(`# TYPE ${name} `);
  expect(text).not.toContain(plane.token);
  expect(text).not.toMatch(/svc(adm|agt|reg)_/);
});

test('is read with a token of the organization default that may read, and without one where that was set', async () => {
  expect((await scrape('')).status).toBe(401);
  expect((await scrape(plane.addOrganization('other'))).status).toBe(403);
  const made = await plane.call('POST', '/admin-tokens', {
    name: 'prometheus',
    access: ['viewer'],
    expiresInSeconds: 600,
  });
  expect((await scrape(String(made.body['token']))).status).toBe(200);
  await using open = await RunningControlPlane.start(undefined, { SERVICE_METRICS_PUBLIC: 'true' });
  expect((await scrape('', open.url)).status).toBe(200);
});

test('counts in the database once in ten seconds, however often it is asked', async () => {
  let queries = 0;
  const db = {
    selectFrom: () => {
      queries += 1;
      throw new Error('the database is away');
    },
    getExecutor: () => {
      queries += 1;
      throw new Error('the database is away');
    },
  };
  const clock = new ManualClock();
  const metrics = new ControlPlaneMetrics({
    store: { db: db as never },
    clock,
    logger: createLogger('test', 'silent'),
  });
  const texts = await Promise.all([metrics.text(), metrics.text()]);
  expect(queries).toBe(1);
  // What is not known is not there.
  expect(linesOf(texts[0] ?? '', 'service_database_up')).toEqual(['service_database_up 0']);
  expect(linesOf(texts[0] ?? '', 'service_oldest_waiting_intent_seconds')).toEqual([]);
  clock.advance(9999);
  await metrics.text();
  expect(queries).toBe(1);
  clock.advance(1);
  await metrics.text();
  expect(queries).toBe(2);
});
