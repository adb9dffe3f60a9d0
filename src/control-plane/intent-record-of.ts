import type { IntentRecord } from '../intent/intent-record.ts';
import type { IntentRequest } from '../intent/intent-request.ts';
import type { PolicyContext } from '../intent/policy-context.ts';
import { definitionHash } from '../operation-templates/definition-hash.ts';
import { newId } from '../protocol/ids.ts';
import type { SealedIntentValues } from './seal-secret-values.ts';

/** What is stored of an intent: never its secret values in the clear. */
export function recordOf(
  {
    secretValues: _secret,
    sealedValues: _sealed,
    recoveryValues: _recovery,
    expectedGeneration: _expected,
    dryRun: _dryRun,
    ...request
  }: IntentRequest,
  { sealedValues }: SealedIntentValues,
  requestedBy: string,
  generation: number,
  now: Date,
  randomBytes: (n: number) => Uint8Array,
): IntentRecord {
  return {
    intentVersion: 'v1alpha1',
    id: newId('int', now, randomBytes),
    ...request,
    ...(sealedValues === undefined ? {} : { sealedValues }),
    generation,
    requestedBy,
    requestedAt: now.toISOString(),
  };
}

/** An operation by an admin's template is pinned to what that does now. */
export function templatePin(templates: PolicyContext['templates']): Pick<IntentRecord, 'templateHash'> {
  const templateHash = definitionHash(templates?.definition);
  return templateHash === undefined ? {} : { templateHash };
}
