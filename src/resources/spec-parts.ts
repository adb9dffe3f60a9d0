import { Type } from 'typebox';
import { Condition, Timestamp } from '../protocol/condition.ts';
import { CONNECTIVITY_MODES } from '../protocol/connectivity-mode.ts';
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

/** A time that we write ourselves; the API server checks its form. */
export function time(description: string) {
  return Type.String({ format: 'date-time', maxLength: 64, description });
}

/** Values of any shape, taken as they are. */
export function freeForm(description: string) {
  return Type.Record(Type.String(), Type.Unknown(), { description });
}

/** The wire's condition, in words for `kubectl explain`. */
const StatusCondition = Type.Object(
  {
    ...Condition.properties,
    type: Type.String({ ...Condition.properties.type, description: 'What is observed, in one word such as Ready.' }),
    status: oneOf(['True', 'False', 'Unknown'], { description: 'Whether it holds: True, False, or not known.' }),
    reason: Type.Optional(
      Type.String({ ...Condition.properties.reason, description: 'Why, in one word that programs can rely on.' }),
    ),
    message: Type.Optional(
      Type.String({ ...Condition.properties.message, description: 'Why, in a sentence for people, and what to do.' }),
    ),
    lastTransitionTime: Type.Optional(
      Type.String({ ...Timestamp, description: 'When the status last changed from one of its values to another.' }),
    ),
  },
  { description: 'One observation.' },
);

export const Conditions = Type.Array(StatusCondition, {
  maxItems: 64,
  description:
    'Latest observations, one for each type; lastTransitionTime moves only when the status of a condition changes.',
});

export const ObservedGeneration = Type.Integer({
  minimum: 0,
  description: 'The metadata.generation that this status was worked out from.',
});

/** Which way, revision and intent brought the spec that this status is about. */
export const StatusSource = Type.Object(
  {
    mode: Type.Optional(
      oneOf(CONNECTIVITY_MODES, { description: 'The way on which the spec came: pull, push or gitops.' }),
    ),
    revision: Type.Optional(
      Type.String({ maxLength: 256, description: 'Git commit or tree that brought the spec; jobs have none.' }),
    ),
    intentId: Type.Optional(
      Type.String({ maxLength: 128, description: 'The intent that the spec was rendered from.' }),
    ),
  },
  { description: 'Which way, revision and intent brought the current spec here.' },
);
