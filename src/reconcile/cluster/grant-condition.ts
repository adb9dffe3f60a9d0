import type { Condition } from '../../protocol/condition.ts';
import { Reason } from '../../resources/reasons.ts';
import { notGrantedMessage } from '../kube-failure.ts';
import type { Grant } from '../namespace-watches.ts';

const MAX_NAMED = 20;

/**
 * `NamespacesGranted` of the Cluster's status: the one place in the cluster where a missing grant can be read, since the
 * operator may not write where it has none. Undefined while the watches are on their way.
 */
export function grantCondition(
  grants: ReadonlyMap<string, Grant>,
  allowed: readonly string[],
): Omit<Condition, 'lastTransitionTime'> | undefined {
  const type = 'NamespacesGranted';
  const having = (grant: Grant): readonly string[] =>
    [...grants].flatMap(([name, its]) => (its === grant ? [name] : [])).sort();
  const denied = having('not_granted');
  if (denied.length > 0) {
    const named = denied.slice(0, MAX_NAMED).map(notGrantedMessage);
    const more = denied.length > named.length ? `; and ${denied.length - named.length} more` : '';
    return { type, status: 'False', reason: Reason.NamespaceNotGranted, message: named.join('; ') + more };
  }
  if (having('opening').length > 0) return undefined;
  const closed = allowed.filter((name) => !grants.has(name));
  const waiting = closed.length === 0 ? '' : `; allowed, and not there or not labelled: ${closed.join(', ')}`;
  const message = `granted: ${having('granted').join(', ') || 'none'}${waiting}`;
  return { type, status: 'True', reason: Reason.NamespacesGranted, message };
}
