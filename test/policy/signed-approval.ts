import { CompactSign, importJWK, type JWK } from 'jose';
import { approvedSpecHash, type ApprovalStatement } from '../../src/protocol/approval-statement.ts';
import { generateSigningKey, type SigningKey } from '../../src/protocol/signing-key.ts';
import type { Approvable } from '../../src/policy/approval-need.ts';
import type { ApplicationInstance } from '../../src/resources/application-instance.ts';
import type { Operation } from '../../src/resources/operation.ts';
import { CLUSTER_ID } from '../reconcile/manifests.ts';

export const NOW = new Date('2026-03-01T10:00:00Z');
const SECONDS = NOW.getTime() / 1000;

/** The control plane's key for this cluster. */
export const controlPlaneKey: SigningKey = generateSigningKey();

export function anOperation(
  spec: Partial<Operation['spec']> = {},
  metadata: Partial<Operation['metadata']> = {},
): Operation {
  return {
    apiVersion: 'ops.service.io/v1alpha1',
    kind: 'Operation',
    metadata: { name: 'nightly', namespace: 'shop', ...metadata },
    spec: { template: 'velero-backup', parameters: { ttl: '72h' }, ...spec },
  };
}

export function claimsFor(operation: Approvable, change: Partial<ApprovalStatement> = {}): ApprovalStatement {
  return {
    cluster_id: CLUSTER_ID,
    namespace: operation.metadata.namespace ?? '',
    name: operation.metadata.name,
    specHash: approvedSpecHash(operation.spec),
    approvedBy: 'ada',
    requestedBy: 'bob',
    iat: SECONDS - 60,
    exp: SECONDS + 3600,
    jti: 'apr-1',
    ...change,
  };
}

export async function sign(
  claims: unknown,
  options: { readonly key?: SigningKey; readonly header?: Readonly<Record<string, unknown>> } = {},
): Promise<string> {
  const { key = controlPlaneKey, header = { kid: key.kid } } = options;
  const jwk = JSON.parse(key.privateJwk.expose()) as JWK & { kty: 'OKP' };
  return await new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: 'EdDSA', ...header })
    .sign(await importJWK(jwk, 'EdDSA'));
}

/** The operation as the control plane delivers it once somebody approved it. */
export async function approved(operation: Operation, change: Partial<ApprovalStatement> = {}): Promise<Operation> {
  const statement = await sign(claimsFor(operation, change));
  return { ...operation, spec: { ...operation.spec, approval: { required: true, statement } } };
}

/** The same of an instance, which carries its approval in an annotation. */
export async function approvedInstance(
  instance: ApplicationInstance,
  change: Partial<ApprovalStatement> = {},
): Promise<ApplicationInstance> {
  const { annotations, ...metadata } = instance.metadata;
  const statement = await sign(claimsFor(instance, change));
  return {
    ...instance,
    metadata: { ...metadata, annotations: { ...annotations, 'app.service.io/approval': statement } },
  };
}
