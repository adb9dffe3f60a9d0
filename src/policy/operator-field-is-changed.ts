import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../resources/kube-object.ts';
import { Reason } from '../resources/reasons.ts';
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE, PAUSED_ANNOTATION, TOMBSTONE_ANNOTATION } from '../resources/labels.ts';
import type { OperatorAccounts } from './operator-accounts.ts';
import type { PolicyViolation } from './policy-violation.ts';

/** One write, as far as this check looks at it. */
export interface ReservedWrite {
  readonly username: string;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject;
  readonly subresource: 'status' | undefined;
}

const OURS = 'app.service.io/';
/** Finalizers of ours. */
const OUR_FINALIZERS = [OURS, 'ops.service.io/'];
/** What a person sets: to uninstall by hand. */
const FOR_PEOPLE: readonly string[] = [TOMBSTONE_ANNOTATION];

/**
 * Somebody else than the operator or the push account changes what they alone may set: labels and annotations by which an
 * object belongs to the control plane and has its place in the order of deliveries, a finalizer that is added, that an
 * operation needs an approval, and the status. Only at admission: an object does not say who wrote it.
 */
export function operatorFieldIsChanged(write: ReservedWrite, accounts: OperatorAccounts): readonly PolicyViolation[] {
  const { username, before, after, subresource } = write;
  if (!accounts.known || accounts.operator.includes(username) || username === accounts.push) return [];
  const fields = subresource === 'status' ? changedStatus(write) : changedFields(before, after);
  if (fields.length === 0) return [];
  const [operator = ''] = accounts.operator;
  const message = `only the operator sets ${fields.join(', ')}; ${advice(write, fields, operator)}`;
  return [{ reason: Reason.ReservedFieldChanged, message }];
}

function changedStatus({ before, after }: ReservedWrite): readonly string[] {
  return isDeepStrictEqual(before?.['status'], after['status']) ? [] : ['status'];
}

function changedFields(before: KubeObject | undefined, after: KubeObject): readonly string[] {
  const finalizers = (object: KubeObject | undefined): readonly string[] =>
    (object?.metadata.finalizers ?? []).filter((name) => OUR_FINALIZERS.some((prefix) => name.startsWith(prefix)));
  const had = finalizers(before);
  // Taking one off is never held up, whatever else the write does; the operator puts it back where it is needed.
  const added = finalizers(after).filter((name) => !had.includes(name));
  return [
    ...changedKeys(before?.metadata.labels, after.metadata.labels).map((key) => `metadata.labels[${key}]`),
    ...changedKeys(before?.metadata.annotations, after.metadata.annotations).map(
      (key) => `metadata.annotations[${key}]`,
    ),
    ...added.map((name) => `metadata.finalizers[${name}]`),
    ...(requiresApproval(before) && !requiresApproval(after) ? ['spec.approval.required'] : []),
  ];
}

function changedKeys(before: Record<string, string> = {}, after: Record<string, string> = {}): readonly string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => key.startsWith(OURS) && !FOR_PEOPLE.includes(key) && before[key] !== after[key]);
}

function requiresApproval(object: KubeObject | undefined): boolean {
  const spec = object?.['spec'];
  if (typeof spec !== 'object' || spec === null || !('approval' in spec)) return false;
  const { approval } = spec;
  return typeof approval === 'object' && approval !== null && 'required' in approval && approval.required === true;
}

function advice({ before, after }: ReservedWrite, fields: readonly string[], operator: string): string {
  const { name, namespace = '' } = after.metadata;
  const named = `${after.kind.toLowerCase()} ${name} -n ${namespace}`;
  if (fields.includes('status')) {
    return `change spec, or stop the operator here with: kubectl annotate ${named} ${PAUSED_ANNOTATION}=true`;
  }
  if (before === undefined)
    return 'leave that out, and create it again: an object that a person makes needs none of it';
  return (
    `leave that as it is, see: kubectl get ${named} -o yaml. To hand an object over to the control plane: ` +
    `kubectl label ${named} ${MANAGED_BY_LABEL}=${MANAGED_BY_VALUE} --as=${operator}`
  );
}
