import { afterEach, beforeEach, expect, it } from 'vitest';
import { noteReportedEpoch } from '../../../src/control-plane/modes/note-reported-epoch.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { SwitchWorld } from './switch-world.ts';

let world: SwitchWorld;

beforeEach(async () => {
  const [sqlite] = TEST_DATABASES;
  if (sqlite === undefined) throw new Error('no database');
  world = await SwitchWorld.open(sqlite.create, { connectivity_mode: 'pull', delivery_epoch: 5, reported_epoch: null });
});
afterEach(async () => await world[Symbol.asyncDispose]());

async function post(...events: readonly { readonly kind: string; readonly epoch?: number }[]): Promise<boolean> {
  const posted = events.map(({ kind, epoch }): AgentEvent => ({
    eventKey: `e/${kind}/${epoch}`,
    kind: 'ConditionTransition',
    resourceRef: { apiVersion: 'ops.service.io/v1alpha1', kind, name: 'cluster' },
    conditions: [],
    ...(epoch === undefined ? {} : { source: { epoch } }),
  }));
  return await world.store.write(async (trx) => await noteReportedEpoch(trx, await world.cluster(), posted));
}

async function reported(): Promise<number | null> {
  return (await world.cluster()).reported_epoch;
}

it('keeps the highest epoch that was reported of the cluster itself', async () => {
  expect(await post({ kind: 'Cluster' })).toBe(false);
  expect(await reported()).toBeNull();
  expect(await post({ kind: 'Cluster', epoch: 2 }, { kind: 'Cluster', epoch: 4 }, { kind: 'Cluster', epoch: 3 })).toBe(
    true,
  );
  expect(await reported()).toBe(4);
});

it('does not go by what objects say of themselves: they may be ahead of the rest', async () => {
  expect(await post({ kind: 'ApplicationInstance', epoch: 4 }, { kind: 'Operation', epoch: 4 })).toBe(false);
  expect(await reported()).toBeNull();
});

it('never goes back by a late report, nor above the epoch that the cluster was given', async () => {
  await post({ kind: 'Cluster', epoch: 4 });
  expect(await post({ kind: 'Cluster', epoch: 3 })).toBe(false);
  expect(await post({ kind: 'Cluster', epoch: 6 })).toBe(false);
  expect(await reported()).toBe(4);
  expect(await post({ kind: 'Cluster', epoch: 5 }, { kind: 'Cluster', epoch: 6 })).toBe(true);
  expect(await reported()).toBe(5);
});
