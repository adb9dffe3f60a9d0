import { describe, expect, it } from 'vitest';
import { Heartbeat } from '../../src/operator/heartbeat.ts';
import type { Condition } from '../../src/protocol/condition.ts';
import type { AgentEvent } from '../../src/protocol/event.ts';
import { ManualClock } from '../support/manual-clock.ts';

const CONNECTED: Condition = { type: 'Connected', status: 'True', reason: 'ControlPlaneReachable' };

describe('a heartbeat', () => {
  it('is a snapshot of the Cluster at an interval that may change', async () => {
    const clock = new ManualClock();
    const beats: AgentEvent[] = [];
    const stop = new AbortController();
    let seconds = 60;
    let conditions: readonly Condition[] = [];
    const rest = async (): Promise<void> => {
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    const heartbeat = new Heartbeat({
      clock,
      intervalMs: () => seconds * 1000,
      ref: () => ({ apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', name: 'eu', uid: 'uid-1' }),
      conditions: () => conditions,
      source: () => ({ mode: 'gitops', epoch: 1, revision: 'r1' }),
      beat: (event) => void beats.push(event),
    });
    const ended = heartbeat.run(stop.signal);
    await rest();
    clock.advance(60_000);
    await rest();
    expect(beats).toEqual([]);
    conditions = [CONNECTED];
    clock.advance(60_000);
    await rest();
    expect(beats).toEqual([
      {
        eventKey: 'ClusterHeartbeat/uid-1@2026-03-01T10:02:00.000Z',
        kind: 'ClusterHeartbeat',
        resourceRef: { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', name: 'eu', uid: 'uid-1' },
        conditions: [CONNECTED],
        timestamp: '2026-03-01T10:02:00.000Z',
        source: { mode: 'gitops', epoch: 1, revision: 'r1' },
      },
    ]);
    seconds = 5;
    heartbeat.intervalChanged();
    await rest();
    clock.advance(5000);
    await rest();
    expect(beats).toHaveLength(2);
    stop.abort();
    await ended;
  });
});
