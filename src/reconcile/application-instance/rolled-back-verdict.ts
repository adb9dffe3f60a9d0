import { Reason } from '../../resources/reasons.ts';
import type { RollbackPin } from './rollback-pin.ts';
import type { Finding, Verdict } from './verdict.ts';

/** What is said of a release that an operation took back: that what runs is not what the spec says, why, and until when. */
export function rolledBackVerdict(verdict: Verdict, { chartVersion, operation }: RollbackPin): Verdict {
  const until = `taken back to ${chartVersion} by operation ${operation.name}, until the next intent`;
  const { ready, degraded, stalled } = verdict;
  const message = `${withoutRollback(ready.message)}; ${until}`;
  if (ready.status === 'True')
    return { ...verdict, ready: { ...ready, reason: Reason.HelmReleaseRolledBack, message } };
  // Word for word in every condition that says it: a failure is told once, whichever is read first.
  const said = (finding: Finding): Finding => (finding.message === ready.message ? { ...finding, message } : finding);
  return {
    ...verdict,
    ready: said(ready),
    reconciling: said(verdict.reconciling),
    ...(degraded === undefined ? {} : { degraded: said(degraded) }),
    ...(stalled === undefined ? {} : { stalled: said(stalled) }),
  };
}

/** What a status said, without what was said of a rollback besides, by which it would grow at each look. */
export function withoutRollback(message: string): string {
  return message.replace(/(?:; taken back to \S+ by operation \S+, until the next intent)+$/, '');
}
