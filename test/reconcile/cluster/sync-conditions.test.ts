import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/delivery/delivery.ts';
import type { ApplyReport } from '../../../src/reconcile/apply-report.ts';
import { syncConditions } from '../../../src/reconcile/cluster/sync-conditions.ts';

function aReport(outcomes: Readonly<Record<string, Outcome>>, change: Partial<ApplyReport> = {}): ApplyReport {
  return {
    revision: 'abc123',
    complete: true,
    outcomes: new Map(Object.entries(outcomes)),
    removals: new Set(Object.keys(outcomes).filter((key) => key.startsWith('tombstones/'))),
    pruned: new Set(),
    removedWithoutTombstone: [],
    faults: [],
    retryable: false,
    ...change,
  };
}

const stale: Outcome = { state: 'stale', reason: 'StaleSource', message: 'older' };

describe('syncConditions', () => {
  it('is Synced when everything is applied; a tombstone of the past is no fault', () => {
    const report = aReport({
      'apps/shop/a.yaml': { state: 'applied' },
      'apps/shop/b.yaml': { state: 'unchanged' },
      'tombstones/shop/c.json': stale,
    });
    expect(syncConditions(report)).toEqual([
      { type: 'Synced', status: 'True', reason: 'Applied', message: 'revision abc123 is applied (3 files)' },
      {
        type: 'RemovedWithoutTombstone',
        status: 'False',
        reason: 'AllFilesPresent',
        message: 'every applied object has its file or had a tombstone',
      },
    ]);
  });

  it('counts no file for what vanished and went, but for what is still to go', () => {
    const pruned = new Set(['apps/shop/a.yaml', 'apps/shop/b.yaml']);
    const change = { pruned, removals: pruned };
    const went = aReport({ 'apps/shop/a.yaml': { state: 'deleted' }, 'apps/shop/b.yaml': { state: 'absent' } }, change);
    expect(syncConditions(went)[0]?.message).toBe('revision abc123 is applied (0 files)');
    const denied: Outcome = { state: 'failed', reason: 'DeleteFailed', message: 'denied' };
    const left = aReport({ 'apps/shop/a.yaml': { state: 'deleted' }, 'apps/shop/b.yaml': denied }, change);
    expect(syncConditions(left)[0]?.message).toContain('1 of 1 not applied: apps/shop/b.yaml');
  });

  it('names what holds removals first and in full, however many files are bad', () => {
    const held = { key: 'clusters/eu', reason: 'RemovalsHeld', message: `${'x'.repeat(1000)} --revision abc` };
    const bad = Array.from({ length: 25 }, (_, index) => ({
      key: `apps/shop/a${index}.yaml`,
      reason: 'ManifestInvalid',
      message: 'y'.repeat(1000),
    }));
    const [synced] = syncConditions(aReport({}, { faults: [...bad, held] }));
    expect(synced?.message).toMatch(
      /: 26 of 26 not applied: clusters\/eu: RemovalsHeld: x+ --revision abc; apps\/shop/,
    );
    expect(synced?.message).toMatch(/; and 6 more$/);
    expect((synced?.message ?? '').length).toBeLessThan(9000);
  });

  it('says nothing of what vanished after a pass over a part of the source', () => {
    const fault = { key: 'clusters/eu', reason: 'SourceUnreachable', message: 'has lost most' };
    const conditions = syncConditions(aReport({}, { complete: false, faults: [fault] }));
    expect(conditions.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['Synced', 'False', 'SourceUnreachable'],
    ]);
  });

  it('names every bad item, faults of the source and outcomes alike, in the order of their files', () => {
    const report = aReport(
      {
        'apps/shop/z.yaml': { state: 'applied' },
        'apps/shop/b.yaml': {
          state: 'conflict',
          reason: 'ApplyConflict',
          message: 'field manager "kubectl" owns .spec',
        },
        'apps/shop/a.yaml': stale,
      },
      { faults: [{ key: 'apps/shop/nonsense.yaml', reason: 'ManifestInvalid', message: 'not YAML' }] },
    );
    expect(syncConditions(report)[0]).toEqual({
      type: 'Synced',
      status: 'False',
      reason: 'PartlyApplied',
      message:
        'revision abc123: 3 of 4 not applied: apps/shop/a.yaml: StaleSource: older; ' +
        'apps/shop/b.yaml: ApplyConflict: field manager "kubectl" owns .spec; ' +
        'apps/shop/nonsense.yaml: ManifestInvalid: not YAML',
    });
  });

  it('takes the one reason where all bad items have it, and stays short whatever their number', () => {
    const bad: Outcome = { state: 'refused', reason: 'NamespaceNotAllowed', message: 'x'.repeat(5000) };
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`apps/n/${index}.yaml`, bad]));
    const [synced] = syncConditions(aReport(many));
    expect(synced?.reason).toBe('NamespaceNotAllowed');
    expect(synced?.message).toMatch(/^revision abc123: 100 of 100 not applied: .*; and 80 more$/);
    expect(synced?.message?.length).toBeLessThan(8000);
  });

  it('leaves the message of a single bad item whole, with the command that it ends in', () => {
    const bad: Outcome = { state: 'conflict', reason: 'ApplyConflict', message: `${'x'.repeat(1000)} command` };
    expect(syncConditions(aReport({ 'apps/shop/a.yaml': bad }))[0]?.message).toMatch(/xxx command$/);
  });

  it('lists what was kept although its file is gone, and says what to do', () => {
    const kept = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop', name: 'a' };
    expect(syncConditions(aReport({}, { removedWithoutTombstone: [kept] }))[1]).toEqual({
      type: 'RemovedWithoutTombstone',
      status: 'True',
      reason: 'FileRemoved',
      message:
        'kept in the cluster although the file is gone: ApplicationInstance shop/a; ' +
        'uninstall through the control plane, or restore the file',
    });
  });
});
