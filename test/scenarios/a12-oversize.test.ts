import { expect, it } from 'vitest';
import { fitStatus } from '../../src/operator/jobs/fit-report.ts';
import { MAX_EVENT_POST_BYTES } from '../../src/protocol/event.ts';
import { MAX_JOB_BODY_BYTES } from '../../src/protocol/job.ts';
import { registerAgent } from '../control-plane/admin/running-agent.ts';
import { INSTALL, RunningControlPlane, type Answer } from '../control-plane/running-control-plane.ts';

const MIB = 1024 * 1024;

function refusal({ status, body }: Answer): string {
  return `${status} ${body['error']}: ${body['message']}`;
}

it('A12: a manifest of 2 MiB and a status of 5 MiB are refused by naming the limit; what is cut is taken, and other clusters go on', async () => {
  await using plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  for (const slug of ['large', 'other']) await plane.newCluster(slug, { connectivityMode: 'pull' });
  const large = await registerAgent(plane, 'large');
  const other = await registerAgent(plane, 'other');
  const held = other.get(`/api/agent/jobs?cluster=${other.id}&wait=50`);

  const values = { text: 'x'.repeat(2 * MIB) };
  const manifest = await plane.call('POST', '/clusters/large/intents', { ...INSTALL, values });
  expect(refusal(manifest)).toMatch(/^413 payload_too_large: .*\b(524288|1048576)\b/);
  // What the limit of a body lets through is still too large as a manifest.
  const rendered = await plane.call('POST', '/clusters/large/intents', {
    ...INSTALL,
    values: { text: 'x'.repeat(700_000) },
  });
  expect(refusal(rendered)).toMatch(/^413 payload_too_large: .*\b524288\b/);
  expect((await plane.call('GET', '/clusters/large/intents')).body['items']).toEqual([]);

  expect((await plane.call('POST', '/clusters/large/intents', INSTALL)).status).toBe(202);
  const polled = await large.get(`/api/agent/jobs?cluster=${large.id}&wait=20`);
  const path = `/api/agent/jobs/${polled.body['jobs'][0].id}`;
  expect((await large.post(`${path}/ack`, undefined)).status).toBe(204);
  const timestamp = new Date().toISOString();
  const message = 'é'.repeat((5 * MIB) / 2);
  const status = { phase: 'Reconciling', message, timestamp };
  const limit = `is larger than ${MAX_JOB_BODY_BYTES} bytes`;
  expect(refusal(await large.post(`${path}/status`, status))).toContain(limit);
  expect(refusal(await large.post(`${path}/result`, { outcome: 'failed', error: message, timestamp }))).toContain(
    limit,
  );
  const event = {
    eventKey: 'k',
    kind: 'ConditionTransition',
    resourceRef: { apiVersion: 'v1', kind: 'Cluster', name: 'a' },
  };
  const events = [{ ...event, conditions: [{ type: 'Ready', status: 'True', message }] }];
  expect(refusal(await large.post('/api/agent/events', { events }))).toContain(
    `is larger than ${MAX_EVENT_POST_BYTES} bytes`,
  );

  // As the operator sends it: cut, with its size and hash.
  expect((await large.post(`${path}/status`, { ...fitStatus(status), timestamp })).status).toBe(204);
  const { body: job } = await plane.call('GET', `/jobs/${polled.body['jobs'][0].id}`);
  expect(job).toMatchObject({ state: 'acknowledged', phase: 'Reconciling' });
  expect(JSON.stringify(job)).toMatch(/é… \(cut; 5242880 bytes, sha256 [0-9a-f]{64}\)/);

  // The other cluster's poll is still held, and gets its job.
  expect((await plane.call('POST', '/clusters/other/intents', INSTALL)).status).toBe(202);
  expect((await held).body['jobs']).toHaveLength(1);
});
