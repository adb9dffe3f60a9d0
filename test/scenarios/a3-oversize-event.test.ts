import { expect, it } from 'vitest';
import { EventBatcher } from '../../src/events/report/event-batcher.ts';
import { AgentClient } from '../../src/operator/agent-client.ts';
import { outcomeOf } from '../../src/operator/post-events.ts';
import type { AgentEvent } from '../../src/protocol/event.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { INSTANCE, outcome } from '../control-plane/channel/outcome-event.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';

/** An event about the instance of this name. */
function about(name: string, message = ''): AgentEvent {
  return outcome({ reason: 'HelmReleaseReady', message }, { resourceRef: { ...INSTANCE, name, uid: name } });
}

it('A3: one event of many MiB is refused for good, is counted, and the rest goes on', async () => {
  await using plane = await RunningControlPlane.start();
  const clusterId = await plane.newCluster('prod-eu');
  const { body: issued } = await plane.call('POST', '/clusters/prod-eu/registration-token');
  const token = { token: issued['registrationToken'] };
  const { body: registered } = await plane.call('POST', '/api/agent/register', token, { token: null });
  await using client = new AgentClient({
    baseUrl: plane.url,
    caCertificate: '',
    userAgent: 'test',
    clock: systemClock,
  });
  const as = { token: new Secret(String(registered['token'])), clusterId };
  const dropped: number[] = [];
  let counter = 0;
  const stop = new AbortController();
  const batcher = new EventBatcher({
    post: async (events, signal) => {
      const body = { cluster_id: clusterId, events };
      return outcomeOf(await client.call({ method: 'POST', path: '/api/agent/events', body }, as, signal));
    },
    sequence: async () => `1.${(counter += 1)}`,
    batch: () => ({ size: 100, ms: 1 }),
    clock: systemClock,
    random: Math.random,
    logger: createLogger('test', 'silent'),
    onDropped: (count) => void dropped.push(count),
    onDrained: () => undefined,
  });
  const running = batcher.run(stop.signal);
  const reported = async (): Promise<string[]> =>
    (await plane.call('GET', '/clusters/prod-eu/events')).body['items']
      .map(({ resourceRef }: { resourceRef: { name: string } }) => resourceRef.name)
      .sort();
  try {
    // Too long for its field; too large for any post; and in between one of a day that there is not.
    batcher.enqueue(about('a'));
    batcher.enqueue(about('long', 'x'.repeat(40_000)));
    batcher.enqueue(about('b'));
    batcher.enqueue(about('huge', 'x'.repeat(5 * 1024 * 1024)));
    batcher.enqueue({ ...about('dated'), timestamp: '2026-02-30T10:00:00Z' });
    batcher.enqueue(about('c'));
    await expect.poll(reported, { timeout: 10_000, interval: 10 }).toEqual(['a', 'b', 'c']);
    batcher.enqueue(about('d'));
    await expect.poll(reported, { timeout: 10_000, interval: 10 }).toEqual(['a', 'b', 'c', 'd']);
    expect([dropped.at(-1), batcher.size]).toEqual([3, 0]);
  } finally {
    stop.abort();
    await running;
  }
});
