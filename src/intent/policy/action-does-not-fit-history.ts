import type { IntentAction } from '../intent-record.ts';
import type { IntentRequest } from '../intent-request.ts';
import type { LastIntent, PolicyContext } from '../policy-context.ts';
import type { Violation } from '../violation.ts';

/**
 * The action makes no sense after the last one: update or uninstall of what was never installed (or is uninstalled
 * already), install over what is there, operate under a name that an operation has.
 *
 * A failed install may be installed again or updated, a failed uninstall be asked for again. An operation runs once, so its name is free again only
 * where it failed before it came to the cluster.
 */
export function actionDoesNotFitHistory(intent: IntentRequest, context: PolicyContext): Violation[] {
  const allowed = fittingActions(intent.action, context.lastIntent);
  if (intent.action === 'operate' && context.isNameReported === true) {
    return [{ code: 'constraint_violated', path: '/name', message: reported(intent), allowed: [] }];
  }
  if (allowed.includes(intent.action)) return [];
  const violation = { code: 'constraint_violated', message: explain(intent, context.undecidedProposal) } as const;
  // An operation has one action only: it is another name that helps.
  return [intent.action === 'operate' ? { ...violation, path: '/name' } : { ...violation, path: '/action', allowed }];
}

function fittingActions(action: IntentAction, last: LastIntent | undefined): readonly IntentAction[] {
  if (action === 'operate') return last === undefined || neverCame(last) ? ['operate'] : [];
  if (last?.action === 'uninstall' && last.state === 'failed') return ['install', 'uninstall'];
  if (last === undefined || last.action === 'uninstall' || last.state === 'removed') return ['install'];
  if (last.action === 'install' && last.state === 'failed') return ['install', 'update', 'uninstall'];
  return ['update', 'uninstall'];
}

/** Nothing of it came to the cluster. What did keeps its name: it has run, or still may. */
function neverCame({ state, applied_at: appliedAt = null }: LastIntent): boolean {
  return state === 'removed' || (state === 'failed' && appliedAt === null);
}

function explain({ action, namespace, name }: IntentRequest, undecided: string | undefined): string {
  const what = `${namespace}/${name}`;
  const isApproval = undecided?.startsWith('apr-') === true;
  const proposed =
    undecided === undefined
      ? undefined
      : `${what} ${isApproval ? 'only waits for approval' : 'is only proposed'} on this cluster (${undecided})`;
  switch (action) {
    case 'install':
      return `${what} is installed already; use update to change it`;
    case 'uninstall':
      return proposed === undefined
        ? `${what} is not installed on this cluster; there is nothing to uninstall`
        : `${proposed}; ${isApproval ? 'reject that intent' : 'withdraw that proposal'} instead${isApproval ? '' : ' (supersede)'}`;
    case 'update':
      return proposed === undefined
        ? `${what} is not installed on this cluster; use install first`
        : `${proposed}; wait until it is ${isApproval ? 'approved' : 'merged'}, or install it anew with all that is to change, in its place`;
    case 'operate':
      return `there was an operation ${what} already, and an operation runs once; choose another name, such as ${another(name)}`;
  }
}

function reported({ namespace, name }: IntentRequest): string {
  return (
    `the cluster has reported an operation ${namespace}/${name} that no intent here asked for: it was made by hand, or this ` +
    `control plane was restored from an older backup; an operation runs once, so choose another name, such as ${another(name)}`
  );
}

function another(name: string): string {
  return `${name.slice(0, 48).replace(/-+$/, '')}-2`;
}
