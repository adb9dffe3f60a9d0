import { Type, type Static } from 'typebox';
import { label, subdomain } from './spec-parts.ts';

const strict = { additionalProperties: false } as const;

/** JSON Pointer (RFC 6901) to a member; the whole object (`""`) is not taken: that would turn detection off unseen. */
const POINTER_PATTERN = '^(/([^~/]|~[01])+)+$';

const KEY = '([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?';
const VALUE = '([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?';
const REQUIREMENT = `(!?${KEY}|${KEY} *(=|==|!=) *${VALUE}|${KEY} +(in|notin) +\\( *${VALUE} *(, *${VALUE} *)*\\))`;
/** A label selection expression as `kubectl -l` takes it. Flux fails the release over one that it cannot read. */
const SELECTOR_PATTERN = `^ *${REQUIREMENT} *(, *${REQUIREMENT} *)*$`;

function selector(of: string) {
  return Type.String({
    pattern: SELECTOR_PATTERN,
    maxLength: 512,
    description: `Objects whose ${of} fit this expression, as kubectl -l takes it, such as app=web,tier in (a,b).`,
  });
}

/** Which of the chart's objects a rule is about. What is left out does not count. */
const DriftTarget = Type.Object(
  {
    group: Type.Optional(subdomain('Exact API group of the objects, such as apps; leave it out for the core group.')),
    version: Type.Optional(
      Type.String({
        pattern: '^v[0-9]+((alpha|beta)[0-9]+)?$',
        maxLength: 63,
        description: 'Exact API version of the objects, such as v1.',
      }),
    ),
    kind: Type.Optional(
      Type.String({
        pattern: '^[A-Z][A-Za-z0-9]*$',
        maxLength: 63,
        description: 'Exact kind of the objects, such as Deployment.',
      }),
    ),
    name: Type.Optional(subdomain('Exact name of the one object that is meant.')),
    namespace: Type.Optional(label('Exact namespace of the objects that are meant.')),
    labelSelector: Type.Optional(selector('labels')),
    annotationSelector: Type.Optional(selector('annotations')),
  },
  {
    ...strict,
    description: "Which of the chart's objects are meant, by all that is given (default: every one).",
  },
);

export const DriftIgnoreRule = Type.Object(
  {
    paths: Type.Array(
      Type.String({
        pattern: POINTER_PATTERN,
        maxLength: 512,
        description: 'JSON Pointer (RFC 6901) such as /spec/replicas; ~1 stands for a slash in a name.',
      }),
      { minItems: 1, maxItems: 32, description: 'Fields whose changes by others are neither reported nor corrected.' },
    ),
    target: Type.Optional(DriftTarget),
  },
  { ...strict, description: 'Fields of some objects that others may change.' },
);
export type DriftIgnoreRule = Static<typeof DriftIgnoreRule>;

export const DriftIgnore = Type.Array(DriftIgnoreRule, {
  maxItems: 32,
  description:
    'What drift detection leaves alone, such as the replicas that an autoscaler sets. It needs driftDetection enabled or warn.',
});
export type DriftIgnore = Static<typeof DriftIgnore>;
