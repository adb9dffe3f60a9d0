import { describe, expect, it } from 'vitest';
import { conditionsToReport } from '../../../src/events/report/event-reporter.ts';
import { conditionTransitionKey } from '../../../src/protocol/event-key.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import {
  statusAfter,
  statusAtEnd,
  statusRestated,
  type NextStatus,
} from '../../../src/reconcile/operation/operation-status.ts';
import type { Operation } from '../../../src/resources/operation.ts';
import { Reason } from '../../../src/resources/reasons.ts';
import { ChannelWorld } from './channel-world.ts';

const START = Date.parse('2026-03-01T10:00:00Z');
const REF = {
  apiVersion: 'ops.service.io/v1alpha1',
  kind: 'Operation',
  namespace: 'shop',
  name: 'nightly',
  uid: 'operation-uid',
  generation: 1,
};
const UNTOUCHED: Operation = {
  apiVersion: REF.apiVersion,
  kind: REF.kind,
  metadata: { name: REF.name, namespace: REF.namespace, uid: REF.uid, generation: 1 },
  spec: { template: 'velero-backup' },
};

const at = (second: number): Date => new Date(START + second * 1000);

function withStatus(operation: Operation, { conditions, ...rest }: NextStatus): Operation {
  return { ...operation, status: { ...rest, conditions: [...conditions] } };
}

/** The operation as it stands while its first try runs. */
function running(template: 'velero-backup' | 'velero-restore'): Operation {
  const plan = { template, parameters: {}, deadlineSeconds: 600, retries: 0 };
  const begin = { kind: 'begin', attempt: 1, plan, message: 'it runs' } as const;
  return withStatus(UNTOUCHED, statusAfter(UNTOUCHED, begin, { now: at(0) }));
}

function runningFor(reason: Reason): Operation {
  return running(reason.startsWith('VeleroRestore') ? 'velero-restore' : 'velero-backup');
}

function ended(reason: Reason, message: string): Operation {
  const before = runningFor(reason);
  const end = reason.endsWith('Failed') ? 'Failed' : 'Succeeded';
  return withStatus(before, statusAtEnd(before, { end, reason, message }, at(30)));
}

/** What the operator's reporter sends of a change, or of a snapshot where there is nothing before. */
function events(before: Operation | undefined, after: Operation, sequence: string, when: Date): AgentEvent[] {
  const conditions = conditionsToReport({
    ref: REF,
    before: before?.status?.conditions ?? [],
    after: after.status?.conditions ?? [],
    source: {},
  });
  return conditions.map((condition) => ({
    eventKey: conditionTransitionKey(REF, condition),
    kind: 'ConditionTransition',
    resourceRef: REF,
    conditions: [condition],
    timestamp: when.toISOString(),
    sequence,
  }));
}

describe('the outcome of a backup or a restore', () => {
  it.for([
    [Reason.VeleroBackupCompleted, 'backup completed'],
    [Reason.VeleroBackupFailed, 'backup failed'],
    [Reason.VeleroRestoreCompleted, 'restore completed'],
    [Reason.VeleroRestoreFailed, 'restore failed'],
  ] as const)('%s is told once, through replays, a restart and a later look', async ([reason, says]) => {
    await using world = await ChannelWorld.start();
    const before = runningFor(reason);
    const after = ended(reason, 'Velero says so');
    await world.post(events(undefined, before, '1.1', at(0)));
    expect(await world.texts()).toEqual([]);
    const told = events(before, after, '1.2', at(30));
    for (let time = 0; time < 3; time += 1) expect((await world.post(told)).status).toBe(204);
    // Another process, which takes a snapshot of everything an hour later.
    await world.post(events(undefined, after, '2.1', at(3600)));
    // A cancellation that came too late: another generation, and nothing new.
    const restated: Operation = { ...after, metadata: { ...after.metadata, generation: 2 } };
    const later = withStatus(restated, statusRestated(restated, at(7200)));
    const again = events(undefined, later, '2.2', at(7200));
    await world.post(
      again.map((event) => ({ ...event, eventKey: `${event.eventKey}+`, resourceRef: { ...REF, generation: 2 } })),
    );
    expect(await world.texts()).toEqual([`prod-eu: shop/nightly ${says}: Velero says so`]);
  });

  it('of a second run under the same name is told too', async () => {
    await using world = await ChannelWorld.start();
    const after = ended(Reason.VeleroBackupCompleted, 'whole');
    await world.post(events(undefined, after, '1.1', at(30)));
    const uid = 'another-uid';
    const second = events(undefined, after, '1.2', at(4000)).map((event) => ({
      ...event,
      eventKey: `${event.eventKey}2`,
      resourceRef: { ...REF, uid },
    }));
    await world.post(second);
    expect(await world.texts()).toHaveLength(2);
  });
});
