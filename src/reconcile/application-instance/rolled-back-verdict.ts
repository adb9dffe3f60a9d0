import { Reason } from '../../resources/reasons.ts';
import type { RollbackPin } from './rollback-pin.ts';
import type { Verdict } from './verdict.ts';

/** What is said of a release that an operation took back: that what runs is not what the spec says, why, and until when. */
export function rolledBackVerdict(verdict: Verdict, { chartVersion, operation }: RollbackPin): Verdict {
  const until = `taken back to ${chartVersion} by operation ${operation.name}, until the next intent`;
  const { ready, reconciling } = verdict;
  if (ready.status === 'True') {
    return {
      ...verdict,
      ready: { ...ready, reason: Reason.HelmReleaseRolledBack, message: `${ready.message}; ${until}` },
    };
  }
  const said = { ...ready, message: `${ready.message}; ${until}` };
  return reconciling.status === 'True' && reconciling.message === ready.message
    ? { ...verdict, ready: said, reconciling: { ...reconciling, message: said.message } }
    : { ...verdict, ready: said };
}
