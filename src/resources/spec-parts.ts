import { Type } from 'typebox';
import { Condition } from '../protocol/condition.ts';
import { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import { DNS_LABEL_PATTERN } from '../protocol/names.ts';

/** A choice of words. */
export function oneOf<const T extends string>(words: readonly T[], options: { readonly description: string }) {
  return Type.Unsafe<T>({ type: 'string', enum: [...words], ...options });
}

/** Go duration, as Flux and Kubernetes write them. */
export const DURATION_PATTERN = '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$';

export function label(description: string, maxLength = 63) {
  return Type.String({ pattern: DNS_LABEL_PATTERN, maxLength, description });
}

/** Name of a Secret or ConfigMap: RFC 1123 subdomain. */
export function subdomain(description: string) {
  return Type.String({
    pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
    maxLength: 253,
    description,
  });
}

/** Values of any shape, taken as they are. */
export function freeForm(description: string) {
  return Type.Record(Type.String(), Type.Unknown(), { description });
}

export const Conditions = Type.Array(Condition, {
  maxItems: 64,
  description:
    'Latest observations, one per type; lastTransitionTime moves only when the status of a condition changes.',
});

export const ObservedGeneration = Type.Integer({
  minimum: 0,
  description: 'The metadata.generation that this status was worked out from.',
});

/** Which way, revision and intent brought the spec that this status is about. */
export const StatusSource = Type.Object(
  {
    mode: Type.Optional(ConnectivityMode),
    revision: Type.Optional(
      Type.String({ maxLength: 256, description: 'Git commit or tree, or job id, that brought the spec.' }),
    ),
    intentId: Type.Optional(
      Type.String({ maxLength: 128, description: 'The intent that the spec was rendered from.' }),
    ),
  },
  { description: 'Which way, revision and intent brought the current spec here.' },
);
