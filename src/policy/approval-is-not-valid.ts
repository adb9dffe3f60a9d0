import { Value } from 'typebox/value';
import { compactVerify, decodeProtectedHeader, errors, importJWK } from 'jose';
import { ApprovalStatement, approvedSpecHash } from '../protocol/approval-statement.ts';
import type { PublicJwk } from '../protocol/register.ts';
import type { Operation } from '../resources/operation.ts';
import { Reason } from '../resources/reasons.ts';
import { NO_APPROVALS_YET, needsApproval } from './approval-is-missing.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';

const ALG = 'EdDSA';
/** How far the control plane's clock may be ahead. */
const SKEW_SECONDS = 60;

/**
 * The statement that the operation carries does not approve it. Whether its `jti` was used before is not judged here: that
 * takes a memory.
 */
export async function approvalIsNotValid(
  operation: Pick<Operation, 'metadata' | 'spec'>,
  { policy, now }: Pick<PolicySituation, 'policy' | 'now'>,
): Promise<readonly PolicyViolation[]> {
  const statement = operation.spec.approval?.statement;
  if (!needsApproval(operation) || statement === undefined) return [];
  const fault =
    policy.signingKeys.length === 0
      ? 'cannot be verified: the control plane has not given this cluster its public key (status.odooPublicKey of the Cluster)'
      : await faultOf(statement, policy.signingKeys, operation, policy.clusterId, Math.floor(now.getTime() / 1000));
  if (fault === undefined) return [];
  const message = `spec.approval.statement ${fault}; ${NO_APPROVALS_YET}`;
  return [{ reason: Reason.ApprovalInvalid, message }];
}

async function faultOf(
  statement: string,
  keys: readonly PublicJwk[],
  { metadata, spec }: Pick<Operation, 'metadata' | 'spec'>,
  clusterId: string,
  now: number,
): Promise<string | undefined> {
  const read = await openStatement(statement, keys);
  if (typeof read === 'string') return read;
  const about = `${read.namespace}/${read.name}`;
  const own = `${metadata.namespace ?? ''}/${metadata.name}`;
  if (read.cluster_id !== clusterId) return `approves an operation on cluster ${read.cluster_id}; this is ${clusterId}`;
  if (about !== own) return `approves the operation ${about}; this is ${own}`;
  if (read.specHash !== hashOf(spec)) return 'approves another spec; the spec was changed since it was approved';
  if (read.exp <= now) return `expired at ${timeOf(read.exp)}`;
  if (read.iat > now + SKEW_SECONDS) {
    return `is of ${timeOf(read.iat)}, which is still to come; compare the clocks of the control plane and this cluster`;
  }
  return undefined;
}

/** The claims, or what is wrong with the statement. */
async function openStatement(statement: string, keys: readonly PublicJwk[]): Promise<ApprovalStatement | string> {
  try {
    const header = decodeProtectedHeader(statement);
    if (header.alg !== ALG) return `is signed with ${String(header.alg).slice(0, 32)}; ${ALG} is expected`;
    // The same key signs payloads, detached and with b64: false; none of those is an approval.
    if (header.crit !== undefined || 'b64' in header) return 'carries critical header members; an approval has none';
    const key = header.kid === undefined ? keys[0] : keys.find(({ kid }) => kid === undefined || kid === header.kid);
    if (key === undefined) {
      const known = keys.map(({ kid }) => kid).join(', ');
      return `is signed by key ${header.kid?.slice(0, 64)}; this cluster's control plane signs with ${known}`;
    }
    const { payload } = await compactVerify(statement, await importJWK({ ...key, kty: 'OKP' }, ALG), {
      algorithms: [ALG],
    });
    const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
    if (Value.Check(ApprovalStatement, claims)) return claims;
    return `lacks what an approval says: ${ApprovalStatement.required.join(', ')}`;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) {
      return "is forged or altered: its signature is not that of this cluster's control plane";
    }
    return 'is not a compact JWS of an approval';
  }
}

/** A spec without a canonical form has no hash, so none that was approved. */
function hashOf(spec: Operation['spec']): string | undefined {
  try {
    return approvedSpecHash(spec);
  } catch {
    return undefined;
  }
}

function timeOf(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s` : date.toISOString();
}
