import { expect, it } from 'vitest';
import { MAX_EVENTS_PER_POST } from '../../src/protocol/event.ts';
import { registerAgent } from '../control-plane/admin/running-agent.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';

const POSTS = 40;

it(
  'A3: an ack is not starved by a flood of events and statuses: it overtakes what waits',
  { timeout: 90_000 },
  async () => {
    await using plane = await RunningControlPlane.start();
    await plane.putPodinfo();
    const id = await plane.newCluster('eu', { connectivityMode: 'pull' });
    const agent = await registerAgent(plane, id);
    for (const name of ['podinfo', 'second']) {
      expect((await plane.call('POST', '/clusters/eu/intents', { ...INSTALL, name })).status).toBe(202);
    }
    const offered = async (): Promise<string[]> => {
      const { body } = await agent.get(`/api/agent/jobs?cluster=${id}&wait=0`);
      return (body['jobs'] as { id: string }[]).map((job) => job.id);
    };
    await expect.poll(async () => (await offered()).length, { timeout: 10_000 }).toBe(2);
    const [first = '', second = ''] = await offered();
    expect((await agent.post(`/api/agent/jobs/${first}/ack`, undefined)).status).toBe(204);

    const order: string[] = [];
    const flood = Array.from({ length: POSTS }, async (_, post) => {
      const events = Array.from({ length: MAX_EVENTS_PER_POST }, (__, index) => ({
        eventKey: `flood/${post}/${index}`,
        kind: 'ConditionTransition',
        resourceRef: {
          apiVersion: 'apps.service.io/v1alpha1',
          kind: 'ApplicationInstance',
          name: `a${index}`,
          uid: `u${index}`,
        },
        conditions: [{ type: 'Ready', status: 'True', reason: `R${post}` }],
        sequence: `1.${post * MAX_EVENTS_PER_POST + index + 1}`,
      }));
      const timestamp = new Date().toISOString();
      const answers = await Promise.all([
        agent.post('/api/agent/events', { events }),
        agent.post(`/api/agent/jobs/${first}/status`, { phase: 'Reconciling', message: `${post}`, timestamp }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([204, 204]);
      order.push('flood');
    });
    await expect.poll(() => order.length, { timeout: 30_000, interval: 1 }).toBeGreaterThan(0);
    const ack = agent.post(`/api/agent/jobs/${second}/ack`, undefined).then((answer) => {
      order.push('ack');
      return answer;
    });
    expect((await ack).status).toBe(204);
    await Promise.all(flood);
    // Of what waited when it came, most was answered after it.
    expect(order.indexOf('ack')).toBeLessThan(POSTS / 2);
    expect(await offered()).toEqual([]);
  },
);
