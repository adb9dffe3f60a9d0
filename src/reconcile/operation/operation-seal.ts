import type { Operation } from '../../resources/operation.ts';
import type { Secret } from '../../runtime/secret.ts';
import { isSealed, sealOf } from '../own-seal.ts';
import type { NextStatus } from './operation-status.ts';

const PURPOSE = 'service-operator-operation';

/** The status with the operator's proof of what it lets run, for this very object. */
export function withSeal(operation: Operation, status: NextStatus, clusterId: string, key: Secret): NextStatus {
  const { seal: _seal, ...rest } = status;
  if (rest.phase !== 'Running') return rest;
  return { ...rest, seal: sealOf(PURPOSE, sealedOf(operation, rest), clusterId, key) };
}

/**
 * Whether what stands there of what runs was written by an operator of this cluster: it stands in for the approval and for
 * the spec from the start on, and others may be let to write a status.
 */
export function isAsWritten(operation: Operation, clusterId: string, ring: readonly Secret[]): boolean {
  const { status } = operation;
  return status?.seal !== undefined && isSealed(status.seal, PURPOSE, sealedOf(operation, status), clusterId, ring);
}

/** Everything that decides what is done next. */
function sealedOf({ metadata }: Operation, status: Omit<NonNullable<Operation['status']>, 'conditions'>): unknown {
  const { run, attempts, begun, startedAt, nextTryAt, stopping } = status;
  const { uid, namespace, name } = metadata;
  return settled({ operation: [uid, namespace, name], run, attempts, begun, startedAt, nextTryAt, stopping });
}

/** Without what says nothing: API servers differ in whether they keep a null. */
function settled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => settled(item) ?? null);
  if (typeof value !== 'object' || value === null) return value ?? undefined;
  const members = Object.entries(value).flatMap(([name, member]) => {
    const kept = settled(member);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return Object.fromEntries(members);
}
