import { decodeProtectedHeader, compactVerify, errors, importJWK } from 'jose';
import { Value } from 'typebox/value';
import { ApprovalStatement } from '../protocol/approval-statement.ts';
import { MAX_CLOCK_SKEW_SECONDS } from '../protocol/hmac.ts';
import type { PublicJwk } from '../protocol/register.ts';
import { APPROVAL_ANNOTATION } from '../resources/labels.ts';
import { approvableHashes } from './approvable-hashes.ts';
import { approvalNeed, isOperation, type Approvable, type ApprovalNeed } from './approval-need.ts';
import { NO_APPROVALS } from './cluster-policy.ts';
import type { PolicySituation } from './policy-violation.ts';

export type ApprovalState =
  | { readonly state: 'not needed' }
  /** What stands was made of this very spec, so nothing is left to approve; `specHash` is what was approved. */
  | { readonly state: 'released'; readonly specHash: string }
  | { readonly state: 'good'; readonly statement: ApprovalStatement; readonly specHash: string }
  /** It is of a moment to come by the clock here, and nothing else is wrong with it. */
  | { readonly state: 'early'; readonly message: string }
  | { readonly state: 'missing'; readonly need: ApprovalNeed }
  /** `message` says of which statement, and what is wrong with it. */
  | { readonly state: 'invalid' | 'used'; readonly message: string };

const ALG = 'EdDSA';
/** One that says it is good for longer was not meant so. */
const LONGEST_SECONDS = 7 * 86_400;
const LONGEST_STATEMENT = 8192;
/** Decoders pass over characters that are none of base64url. */
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]*$/;
const NO_JWS = 'is not a compact JWS of an approval';

type Judged = Exclude<ApprovalState, { state: 'not needed' | 'released' | 'missing' }>;

/** A statement, and where it stands. */
interface Carried {
  readonly text: string;
  readonly where: string;
}

/**
 * Whether the object needs an approval here, and has a good one: the statement that it carries, or one that came apart from
 * it. Whether it was used before is told as far as the situation knows.
 */
export async function judgeApproval(object: Approvable, situation: PolicySituation): Promise<ApprovalState> {
  const need = approvalNeed(object, situation);
  if (need === undefined) return { state: 'not needed' };
  const hashes = approvableHashes(object.spec);
  const { releasedSpec } = situation;
  if (releasedSpec !== undefined && hashes.includes(releasedSpec)) return { state: 'released', specHash: releasedSpec };
  const found = statementsFor(object, hashes, situation);
  const states: Judged[] = [];
  for (const carried of found) states.push(await judge(carried, object, hashes, situation));
  return (
    states.find(({ state }) => state === 'good') ??
    states.find(({ state }) => state === 'early') ??
    states.find(({ state }) => state === 'used') ??
    states[0] ?? { state: 'missing', need }
  );
}

/**
 * The approvals that the object could use by what it is, or that came apart from it for it, in time or too early: what is to
 * be written down of it before it is known whether it may use them, or once it will not.
 */
export async function approvalsFor(
  object: Approvable,
  situation: Pick<PolicySituation, 'policy' | 'now'>,
): Promise<readonly ApprovalStatement[]> {
  const { policy, now } = situation;
  const hashes = approvableHashes(object.spec);
  const found: ApprovalStatement[] = [];
  for (const { text } of statementsFor(object, hashes, situation)) {
    const read = await openStatement(text, policy.signingKeys);
    if (typeof read === 'string') continue;
    const fault = faultOf(read, object, hashes, policy.clusterId, Math.floor(now.getTime() / 1000));
    if (fault === undefined) found.push(read);
  }
  return found;
}

function statementsFor(
  object: Approvable,
  hashes: readonly string[],
  { policy }: Pick<PolicySituation, 'policy'>,
): readonly Carried[] {
  const own = isOperation(object)
    ? { text: object.spec.approval?.statement, where: 'spec.approval.statement' }
    : { text: object.metadata.annotations?.[APPROVAL_ANNOTATION], where: `annotation ${APPROVAL_ANNOTATION}` };
  const { name, namespace } = object.metadata;
  const { statements } = policy.approvals ?? NO_APPROVALS;
  const apart = statements.filter((text) => {
    const claims = unverifiedClaims(text);
    return claims?.name === name && claims.namespace === namespace && hashes.includes(claims.specHash);
  });
  return [
    ...(own.text === undefined ? [] : [{ text: own.text, where: own.where }]),
    ...apart.map((text) => ({ text, where: 'the approval that the control plane sent for it' })),
  ];
}

/** Only to find a statement by; what it says is not proven. */
function unverifiedClaims(text: string): ApprovalStatement | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return Value.Check(ApprovalStatement, claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}

async function judge(
  { text, where }: Carried,
  object: Approvable,
  hashes: readonly string[],
  { policy, now, usedBy }: PolicySituation,
): Promise<Judged> {
  const invalid = (fault: string) => ({ state: 'invalid', message: `${where} ${fault}` }) as const;
  if (policy.signingKeys.length === 0) {
    return invalid(
      'cannot be verified: the control plane has not given this cluster its public key (status.odooPublicKey of the Cluster)',
    );
  }
  const read = await openStatement(text, policy.signingKeys);
  if (typeof read === 'string') return invalid(read);
  const seconds = Math.floor(now.getTime() / 1000);
  const fault = faultOf(read, object, hashes, policy.clusterId, seconds);
  if (fault !== undefined) return invalid(fault);
  const by = usedBy?.(read.jti, object.metadata.uid);
  if (by !== undefined) {
    return { state: 'used', message: `${where} was used already, by ${by}, and an approval is good for one use` };
  }
  if (read.iat > seconds + MAX_CLOCK_SKEW_SECONDS) {
    const clocks = `it is ${timeOf(seconds)} by the clock of this cluster; compare that with the control plane's`;
    return { state: 'early', message: `${where} is of ${timeOf(read.iat)}, which is still to come: ${clocks}` };
  }
  return { state: 'good', statement: read, specHash: read.specHash };
}

function faultOf(
  statement: ApprovalStatement,
  { metadata }: Approvable,
  hashes: readonly string[],
  clusterId: string,
  now: number,
): string | undefined {
  const { exp, iat, approvedBy, requestedBy } = statement;
  const about = `${statement.namespace}/${statement.name}`;
  const own = `${metadata.namespace ?? ''}/${metadata.name}`;
  if (statement.cluster_id !== clusterId) return `is for cluster ${statement.cluster_id}; this is ${clusterId}`;
  if (about !== own) return `is for ${about}; this is ${own}`;
  if (!hashes.includes(statement.specHash)) return 'is for another spec; this one is not as it was approved';
  if (requestedBy !== undefined && `, ${approvedBy}, `.includes(`, ${requestedBy}, `)) {
    return `was given by ${requestedBy}, who asked for it; somebody else must approve`;
  }
  if (exp <= now) return `expired at ${timeOf(exp)}`;
  if (exp - iat > LONGEST_SECONDS) {
    return `is good until ${timeOf(exp)}, which is ${Math.ceil((exp - iat) / 86_400)} days; one for more than ${LONGEST_SECONDS / 86_400} is not taken`;
  }
  return undefined;
}

/** The claims, or what is wrong with the statement. */
async function openStatement(text: string, keys: readonly PublicJwk[]): Promise<ApprovalStatement | string> {
  if (text.length > LONGEST_STATEMENT) return `has more than ${LONGEST_STATEMENT} characters`;
  if (!COMPACT_JWS.test(text)) return NO_JWS;
  try {
    const header = decodeProtectedHeader(text);
    if (header.alg !== ALG) return `is signed with ${String(header.alg).slice(0, 32)}; ${ALG} is expected`;
    // The same key signs payloads, detached and with b64: false; none of those is an approval.
    if (header.crit !== undefined || 'b64' in header) return 'carries critical header members; an approval has none';
    const key = header.kid === undefined ? keys[0] : keys.find(({ kid }) => kid === undefined || kid === header.kid);
    if (key === undefined) {
      const known = keys.map(({ kid }) => kid).join(', ');
      return `is signed by key ${String(header.kid).slice(0, 64)}; this cluster's control plane signs with ${known}`;
    }
    const { payload } = await compactVerify(text, await importJWK({ ...key, kty: 'OKP' }, ALG), { algorithms: [ALG] });
    const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
    if (Value.Check(ApprovalStatement, claims)) return claims;
    return `lacks what an approval says: ${ApprovalStatement.required.join(', ')}`;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) {
      return "is forged or altered: its signature is not that of this cluster's control plane";
    }
    return NO_JWS;
  }
}

function timeOf(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s` : date.toISOString();
}
