import type { HelmReleaseSpec } from '../../resources/flux-helm-release.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { parseLabelSelector } from '../selectors.ts';

type IgnoreRule = NonNullable<NonNullable<HelmReleaseSpec['driftDetection']>['ignore']>[number];

/** JSON Pointers of an object that drift detection leaves alone, `""` for all of it (`fluxcd/pkg/ssa/jsondiff`). */
export function ignoredPaths(object: KubeObject, rules: readonly IgnoreRule[]): readonly string[] {
  return rules.filter(({ target }) => matches(object, target)).flatMap(({ paths }) => paths);
}

/** The parts of a target are regular expressions, matched as a whole; an empty or absent one fits anything. */
function matches(object: KubeObject, target: IgnoreRule['target']): boolean {
  if (target === undefined) return true;
  const [version = '', group = ''] = object.apiVersion.split('/').toReversed();
  const { name, namespace, labels, annotations } = object.metadata;
  const fits = (pattern: string | undefined, text: string | undefined): boolean =>
    pattern === undefined || pattern === '' || new RegExp(`^(?:${pattern})$`).test(text ?? '');
  const selects = (selector: string | undefined, of: Readonly<Record<string, string>> | undefined): boolean =>
    parseLabelSelector(selector)({ ...object, metadata: { name, labels: { ...of } } });
  return (
    fits(target.group, group) &&
    fits(target.version, version) &&
    fits(target.kind, object.kind) &&
    fits(target.name, name) &&
    fits(target.namespace, namespace) &&
    selects(target.labelSelector, labels) &&
    selects(target.annotationSelector, annotations)
  );
}

/** A copy in which the values at these places are those of another object; what that does not have, the copy has not. */
export function withValuesOf<T>(object: T, other: unknown, pointers: readonly string[]): T {
  const copy = structuredClone(object);
  for (const pointer of pointers) {
    const parts = pointer
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = parts.pop();
    const parent = at(copy, parts);
    if (last === undefined || typeof parent !== 'object' || parent === null) continue;
    const value = at(at(other, parts), [last]);
    if (value === undefined) Reflect.deleteProperty(parent, last);
    else Reflect.set(parent, last, structuredClone(value));
  }
  return copy;
}

function at(value: unknown, parts: readonly string[]): unknown {
  let found = value;
  for (const part of parts) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<string, unknown>)[part];
  }
  return found;
}
