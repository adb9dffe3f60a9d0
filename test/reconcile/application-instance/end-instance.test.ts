import { expect, it } from 'vitest';
import { EventReporter } from '../../../src/events/report/event-reporter.ts';
import type { StatusChange } from '../../../src/events/report/reporter.ts';
import { KubeError } from '../../../src/kube/cluster-api.ts';
import { eventFingerprint } from '../../../src/protocol/event-key.ts';
import { endsToRepeat } from '../../../src/reconcile/ends-to-repeat.ts';
import { changedConditions } from '../../../src/resources/conditions.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { instance, setStage } from './stage.ts';

/** Conditions of each report that are sent as events. */
function sent(reported: Parameters<typeof said>[0][]): readonly (readonly string[])[] {
  return reported.map(said);
}

function said(change: {
  readonly before: Parameters<typeof changedConditions>[0];
  readonly after: Parameters<typeof changedConditions>[1];
}): readonly string[] {
  return changedConditions(change.before, change.after).map(
    ({ type, status, reason }) => `${type}=${status} ${reason}`,
  );
}

it('the end of an instance that was deleted by hand is reported once, and only what it changed', async () => {
  await using stage = await setStage();
  let isArmed = false;
  const beforeWrite = ({ verb, about }: { readonly verb: string; readonly about: string }): void => {
    if (!isArmed || verb !== 'mergePatch' || about !== 'ApplicationInstance shop/podinfo') return;
    // Somebody else wrote in between, so that the finalizer is taken off by the pass after this one.
    isArmed = false;
    throw new KubeError('the object has been modified', { status: 409, reason: 'Conflict' });
  };
  await stage.restart({ beforeWrite });
  await stage.deliver();
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  isArmed = true;
  const before = stage.operator.reported.length;
  await stage.cluster.api.delete(instance);
  await stage.untilGone(instance);
  expect(isArmed).toBe(false);
  expect(sent(stage.operator.reported.slice(before)).filter((conditions) => conditions.length > 0)).toEqual([
    ['Ready=False Orphaned', 'Reconciling=False Orphaned'],
  ]);
  expect(stage.operator.events.filter((event) => event.includes('Orphaned'))).toHaveLength(1);
});

/** What the control plane knows the events of a report by. */
function keysOf(changes: readonly StatusChange[]): readonly string[] {
  const keys: string[] = [];
  const reporter = new EventReporter({
    clock: systemClock,
    enqueue: (event) => void keys.push(`${event.eventKey} ${eventFingerprint(event)}`),
  });
  for (const change of changes) reporter.statusChanged(change);
  return keys;
}

it.each(['Delete', 'Orphan'] as const)(
  'the end of what was uninstalled with deletionPolicy %s is repeated by the next process as the very same event',
  async (deletionPolicy) => {
    await using stage = await setStage();
    await stage.deliver({ spec: { deletionPolicy } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.uninstall('int-2');
    await stage.untilGone(instance);
    const repeated = keysOf(endsToRepeat(stage.operator.inventory.allDeleted(), undefined, 'gitops'));
    expect(repeated).toHaveLength(1);
    expect(keysOf(stage.operator.reported)).toEqual(expect.arrayContaining([...repeated]));
  },
);
