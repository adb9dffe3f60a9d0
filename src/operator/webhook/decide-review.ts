import { isDeepStrictEqual } from 'node:util';
import type { ClusterPolicy } from '../../policy/cluster-policy.ts';
import type { DeletedRecord } from '../../reconcile/inventory-record.ts';
import { checkApplicationInstance } from '../../policy/check-application-instance.ts';
import { checkOperation } from '../../policy/check-operation.ts';
import type { OperatorAccounts } from '../../policy/operator-accounts.ts';
import { operatorFieldIsChanged } from '../../policy/operator-field-is-changed.ts';
import { otherNamespacesOf } from '../../policy/other-namespaces.ts';
import { refusalText, type PolicySituation, type PolicyViolation } from '../../policy/policy-violation.ts';
import { sourceIsStale } from '../../reconcile/stale-source.ts';
import { writesArePaused } from '../../reconcile/write-checks.ts';
import type { KubeObject, ObjectRef } from '../../resources/kube-object.ts';
import { PUSH_FIELD_MANAGER } from '../../resources/labels.ts';
import { Reason } from '../../resources/reasons.ts';
import type { AdmissionRequest, ReviewAnswer } from './admission-review.ts';
import { asJudged, judgedKind, namedObject, type Judged } from './judged-object.ts';

/** What a review is decided by: memory, never a request. */
export interface ReviewView {
  readonly accounts: OperatorAccounts;
  /** Undefined while it is not known what is allowed here. */
  readonly policy: () => ClusterPolicy | undefined;
  /** Undefined while the namespaces are not all known. */
  readonly namespaces: () => ((name: string) => KubeObject | undefined) | undefined;
  readonly now: () => Date;
  /** What this replica remembers of what went, where it leads; the others leave that to the reconcile. */
  readonly deleted?: (ref: ObjectRef) => DeletedRecord | undefined;
  /** Which approvals were used, likewise. */
  readonly usedBy?: NonNullable<PolicySituation['usedBy']>;
}

const ALLOWED: ReviewAnswer = { allowed: true, warnings: [] };
/** What the API server itself moves with every write. */
const OF_APPROVALS: readonly string[] = [Reason.ApprovalMissing, Reason.ApprovalInvalid, Reason.ApprovalUsed];
const MOVES_BY_ITSELF = ['finalizers', 'managedFields', 'resourceVersion', 'generation'];

/**
 * Whether a write is admitted. It holds nothing up: a deletion, an object that is being deleted, a finalizer that is taken
 * off and what the operator itself writes pass unseen, and so does everything while there is nothing to judge by. What an
 * object was admitted with stays, if the write does not concern it.
 */
export async function decideReview(request: AdmissionRequest, view: ReviewView): Promise<ReviewAnswer> {
  const before = namedObject(request, request.oldObject);
  const after = namedObject(request, request.object);
  const username = request.userInfo.username ?? '';
  if (after === undefined || (request.operation !== 'CREATE' && request.operation !== 'UPDATE')) return ALLOWED;
  if ((before ?? after).metadata.deletionTimestamp !== undefined) return ALLOWED;
  if (before !== undefined && onlyRemovesFinalizers(before, after)) return ALLOWED;
  if (view.accounts.operator.includes(username)) return ALLOWED;
  const kind = judgedKind(request);
  if (kind === undefined) {
    return warned(`service-operator does not judge ${request.resource.resource}.${request.resource.group}`);
  }
  const subresource = request.subResource === 'status' ? 'status' : undefined;
  const reserved = operatorFieldIsChanged({ username, before, after, subresource }, view.accounts);
  if (request.subResource !== undefined && request.subResource !== '') return refusedFor(reserved) ?? ALLOWED;

  const policy = view.policy();
  const namespaces = view.namespaces();
  if (policy === undefined || namespaces === undefined) {
    return warned(
      'service-operator does not know yet what is allowed here; the object is judged when it is reconciled',
    );
  }
  const judged = asJudged(kind, after);
  if (judged === undefined) return warned('service-operator cannot read this spec, so it was not judged');
  const old = before === undefined ? undefined : asJudged(kind, before)?.object;
  const situation: PolicySituation = {
    ...namespacesFor(judged.object, policy, namespaces),
    policy,
    now: view.now(),
    ...(view.usedBy === undefined ? {} : { usedBy: view.usedBy }),
    ...(old === undefined ? {} : { before: old }),
  };
  const violations = [...(await check(judged, situation))].filter(
    ({ reason }) => !OF_APPROVALS.includes(reason) || before === undefined || !onlySuspends(before, after),
  );
  const standing = before !== undefined && (await stands(judged, before, violations, situation));
  const late = before === undefined ? comesLate(request, judged.object, policy, view) : undefined;
  if (late?.isRefused === true) violations.push({ reason: Reason.StaleSource, message: late.message });
  const refusal = refusedFor(standing ? reserved : [...reserved, ...violations]);
  if (refusal !== undefined) return refusal;
  const warnings = violations.map(({ message }) => message);
  const odd = late === undefined ? [] : [late.message];
  return { allowed: true, warnings: [...warnings, ...odd, ...oddities(judged, situation)] };
}

/**
 * A create of the control plane's own that was given up and comes when the object was uninstalled, or the cluster had gone
 * on to another way, is refused. A person who restores a copy is told what will be said of it.
 */
function comesLate(
  { options }: AdmissionRequest,
  object: Judged['object'],
  policy: ClusterPolicy,
  { deleted = () => undefined }: ReviewView,
): { readonly message: string; readonly isRefused: boolean } | undefined {
  const isRefused = options?.fieldManager === PUSH_FIELD_MANAGER;
  const stale = sourceIsStale(asCreated(object, isRefused), { find: () => undefined, deleted }, policy);
  return stale && { message: stale.message, isRefused };
}

/** At a create nobody has worked on it; whose it is the write says, since not every server has noted that by now. */
function asCreated({ metadata, ...object }: KubeObject, isPushed: boolean): KubeObject {
  const managedFields = isPushed ? [{ manager: PUSH_FIELD_MANAGER, operation: 'Apply' } as const] : [];
  return { ...object, metadata: { ...metadata, managedFields } };
}

function namespacesFor(
  object: Judged['object'],
  policy: ClusterPolicy,
  namespaces: (name: string) => KubeObject | undefined,
): Pick<PolicySituation, 'namespace' | 'elsewhere'> {
  const elsewhere = otherNamespacesOf(object, policy).flatMap((name) => namespaces(name) ?? []);
  return { namespace: namespaces(object.metadata.namespace ?? ''), elsewhere };
}

async function check(judged: Judged, situation: PolicySituation): Promise<readonly PolicyViolation[]> {
  return judged.kind === 'Operation'
    ? await checkOperation(judged.object, situation)
    : await checkApplicationInstance(judged.object, situation);
}

/**
 * Whether what is wrong with an object was so before, and this write leaves the spec alone, stops it, or mends a part. The
 * reconcile blocks such an object as it did; refusing the write would only keep people from pausing or mending it.
 */
async function stands(
  judged: Judged,
  before: KubeObject,
  violations: readonly PolicyViolation[],
  situation: PolicySituation,
): Promise<boolean> {
  if (isDeepStrictEqual(before['spec'], judged.object.spec) || onlyStops(before, judged.object)) return true;
  const earlier = asJudged(judged.kind, before);
  if (earlier === undefined) return false;
  const known = (await check(earlier, situation)).map(({ message }) => message);
  return violations.length < known.length && violations.every(({ message }) => known.includes(message));
}

/** `cancel` and `suspend` are always taken. */
function onlyStops(before: KubeObject, after: KubeObject): boolean {
  return ['cancel', 'suspend'].some((member) => {
    const spec = after['spec'] as Readonly<Record<string, unknown>>;
    return spec[member] === true && isDeepStrictEqual({ ...(before['spec'] as object), [member]: true }, spec);
  });
}

/** Whether what was approved is released the reconcile knows; to hold it and let it go on needs no approval of its own. */
function onlySuspends(before: KubeObject, after: KubeObject): boolean {
  const [was, is] = [before, after].map((object) => ({ ...(object['spec'] as object), suspend: undefined }));
  return isDeepStrictEqual(was, is);
}

function onlyRemovesFinalizers(before: KubeObject, after: KubeObject): boolean {
  const had = before.metadata.finalizers ?? [];
  const has = after.metadata.finalizers ?? [];
  if (has.length >= had.length || !has.every((name) => had.includes(name))) return false;
  return isDeepStrictEqual(settled(before), settled(after));
}

function settled({ metadata, ...object }: KubeObject): unknown {
  const kept = Object.entries(metadata).filter(([member]) => !MOVES_BY_ITSELF.includes(member));
  return { ...object, metadata: Object.fromEntries(kept) };
}

function refusedFor(violations: readonly PolicyViolation[]): ReviewAnswer | undefined {
  if (violations.length === 0) return undefined;
  const reasons = [...new Set(violations.map(({ reason }) => reason))];
  return { allowed: false, message: refusalText(violations), warnings: [], reasons };
}

function warned(warning: string): ReviewAnswer {
  return { allowed: true, warnings: [warning] };
}

/** What is admitted and may surprise. */
function oddities({ object }: Judged, situation: PolicySituation): readonly string[] {
  const pause = writesArePaused(situation.policy, situation.namespace, ...(situation.elsewhere ?? []), object);
  return pause === undefined ? [] : [pause.message];
}
