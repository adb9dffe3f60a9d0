import { describe, expect, it } from 'vitest';
import type { StatusChange } from '../../../src/events/report/reporter.ts';
import { judgeApplied, judgeGoing, type Progress } from '../../../src/operator/jobs/judge-progress.ts';
import type { Condition } from '../../../src/protocol/condition.ts';

function change(kind: string, ...conditions: readonly string[]): StatusChange {
  const after = conditions.map((text): Condition => {
    const [type = '', status = '', reason = 'Why'] = text.split(/[= ]/);
    return { type, status: status as 'True', reason, message: 'words' };
  });
  const ref = { apiVersion: 'apps.service.io/v1alpha1', kind, namespace: 'shop', name: 'a', uid: 'u', generation: 4 };
  return { ref, before: [], after, source: {} };
}

function words(progress: Progress): string {
  if (progress.state === 'under way') return progress.phase;
  const { outcome, error } = progress.result;
  return error === undefined ? outcome : `${outcome} ${error}`;
}

describe('what the conditions of an object mean for its job', () => {
  it.each([
    ['ApplicationInstance', ['Ready=True', 'Reconciling=False', 'Degraded=False'], 'succeeded'],
    ['ApplicationInstance', ['Ready=True HelmReleaseRolledBack'], 'failed HelmReleaseRolledBack: words'],
    ['ApplicationInstance', ['Ready=False', 'Reconciling=True'], 'Reconciling'],
    ['ApplicationInstance', ['Ready=False', 'Reconciling=True', 'Degraded=True'], 'Reconciling'],
    ['ApplicationInstance', ['Ready=False', 'Reconciling=False', 'Degraded=True Bad'], 'failed Bad: words'],
    ['ApplicationInstance', ['Ready=False', 'Reconciling=True', 'Stalled=True No'], 'failed No: words'],
    ['ApplicationInstance', ['Ready=False', 'Reconciling=False'], 'Reconciling'],
    ['ApplicationInstance', ['Ready=False', 'Reconciling=False', 'Stalled=True ApprovalMissing'], 'Reconciling'],
    ['Operation', ['Succeeded=True'], 'succeeded'],
    ['Operation', ['Running=True'], 'Reconciling'],
    ['Operation', ['Failed=True Bad'], 'failed Bad: words'],
    ['Operation', ['Cancelled=True Off'], 'failed Off: words'],
    ['Operation', ['Blocked=True TemplateNotSupported'], 'failed TemplateNotSupported: words'],
    ['Operation', ['Blocked=True ParametersInvalid'], 'failed ParametersInvalid: words'],
    ['Operation', ['Blocked=True ApprovalMissing'], 'Reconciling'],
    ['Operation', ['Blocked=True NamespaceNotLabelled'], 'Reconciling'],
    ['Operation', ['Blocked=True Paused', 'Accepted=Unknown Paused'], 'Reconciling'],
    ['Operation', ['Running=True OperationRetrying'], 'Reconciling'],
    ['Operation', ['Running=False', 'Succeeded=True', 'Failed=False', 'Cancelled=False'], 'succeeded'],
  ])('%s with %j: %s', (kind, conditions, expected) => {
    expect(words(judgeApplied(change(kind, ...conditions)))).toBe(expected);
  });

  it('names uid and generation of what was applied', () => {
    const progress = judgeApplied(change('ApplicationInstance', 'Ready=True'));
    expect(progress.state === 'ended' && progress.result.appliedRef).toMatchObject({ uid: 'u', generation: 4 });
  });

  it('of an object that goes is told, until it is gone or stuck', () => {
    expect(words(judgeGoing(change('ApplicationInstance', 'Ready=False', 'Reconciling=True')))).toBe('Deleting');
    expect(words(judgeGoing(change('ApplicationInstance', 'Stalled=True Stuck')))).toBe('failed Stuck: words');
  });
});
