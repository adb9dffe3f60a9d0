import { describe, expect, it } from 'vitest';
import { driftVerdict } from '../../../src/reconcile/application-instance/drift-verdict.ts';
import { ready } from '../../../src/reconcile/application-instance/verdict.ts';
import type { Condition } from '../../../src/protocol/condition.ts';
import type { HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import { Reason } from '../../../src/resources/reasons.ts';

const running = ready(Reason.HelmReleaseReady, 'podinfo 6.6.1 runs', undefined);

function said(...conditions: Omit<Condition, 'lastTransitionTime'>[]): HelmRelease {
  return {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: { name: 'podinfo', namespace: 'shop' },
    spec: { interval: '10m' },
    status: { conditions: conditions.map((one) => ({ ...one, lastTransitionTime: '2026-01-01T00:00:00Z' })) },
  };
}

describe('driftVerdict', () => {
  const words = 'correcting cluster drift';
  const unknown = { type: 'Ready', status: 'Unknown', reason: 'Progressing', message: words } as const;
  const action = "Running 'correct cluster drift' action with timeout of 5m0s";

  it('stays Ready while Flux puts back what others changed', () => {
    const correcting = said({ type: 'Reconciling', status: 'True', reason: 'Progressing', message: action }, unknown);
    expect(driftVerdict(correcting, running)).toMatchObject({
      ready: running.ready,
      reconciling: { status: 'True', reason: 'DriftCorrecting' },
      degraded: { status: 'False', reason: 'Healthy' },
    });
  });

  it('is Degraded when Flux cannot, and tries again', () => {
    const stuck = said(
      { type: 'Reconciling', status: 'True', reason: 'ProgressingWithRetry', message: words },
      unknown,
    );
    const verdict = driftVerdict(stuck, running);
    expect(verdict?.ready).toEqual(running.ready);
    expect(verdict?.degraded).toEqual({
      status: 'True',
      reason: 'HelmReleaseFailed',
      message:
        'what the chart installed was changed by others, and cannot be put back; Flux tries again. Why: kubectl -n shop events --for helmrelease/podinfo',
    });
  });

  it('has nothing to say of what is not about drift', () => {
    const upgrading = { ...unknown, message: "Running 'upgrade' action with timeout of 5m0s" };
    expect(driftVerdict(said(upgrading), running)).toBeUndefined();
    expect(driftVerdict(said(), running)).toBeUndefined();
  });
});
