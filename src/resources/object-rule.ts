/**
 * What a schema cannot say of an object, said twice: once for the API server, as CEL (KEP-2876, Kubernetes 1.25 and later),
 * and once for our own code, which holds it to be true on every server (at admission, and again at apply and reconcile).
 */
export interface ObjectRule<T> {
  /** Says what is wrong, as a check does. */
  readonly name: string;
  /** Where the rule stands in the schema: `''` for the object itself, else a dotted path such as `spec.chart`. */
  readonly at: string;
  /** True where the rule holds; with `oldSelf` it is asked at updates only. Absent where CEL cannot see the field. */
  readonly cel?: string;
  /** What is wrong and what to do instead. The API server answers it too. */
  readonly message: string;
  /** `before`: what the object was, at an update. */
  readonly isBroken: (after: T, before: T | undefined) => boolean;
}

/** The first rule that an object breaks. */
export function brokenRule<T>(
  rules: readonly ObjectRule<T>[],
  after: T,
  before: T | undefined,
): ObjectRule<T> | undefined {
  return rules.find((rule) => rule.isBroken(after, before));
}
