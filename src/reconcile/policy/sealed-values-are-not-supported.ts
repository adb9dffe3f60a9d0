import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { Reason } from '../../resources/reasons.ts';
import type { PolicyViolation } from './policy-violation.ts';

/** Releasing without the secret values would run the application with other settings than were asked for. */
export function sealedValuesAreNotSupported({
  metadata,
  spec,
}: Pick<ApplicationInstance, 'metadata' | 'spec'>): readonly PolicyViolation[] {
  if (spec.sealedValues === undefined) return [];
  const message =
    'this operator version does not open spec.sealedValues; nothing is released without them; put the values into a Secret ' +
    `(kubectl create secret generic ${metadata.name}-values -n ${metadata.namespace ?? ''} --from-file=values.yaml) ` +
    'and name it in spec.valuesFrom';
  return [{ reason: Reason.SealedValuesNotSupported, message }];
}
