import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { findCondition } from '../../resources/conditions.ts';

export type FindInstance = (namespace: string, name: string) => ApplicationInstance | undefined;

/** What an instance waits for: each of its `dependsOn` that is not Ready, and what that lacks. Undefined: nothing. */
export function missingDependencies(instance: ApplicationInstance, find: FindInstance): string | undefined {
  const own = instance.metadata.namespace ?? '';
  const missing = (instance.spec.dependsOn ?? []).flatMap(({ name, namespace = own }) => {
    const lack = lackOf(find(namespace, name));
    return lack === undefined ? [] : [`ApplicationInstance ${namespace}/${name} ${lack}`];
  });
  return missing.length === 0 ? undefined : `waits for what it depends on: ${missing.join('; ')}`;
}

function lackOf(other: ApplicationInstance | undefined): string | undefined {
  if (other === undefined) return 'is not there';
  const ready = findCondition(other.status?.conditions, 'Ready');
  if (ready?.status === 'True') {
    return other.status?.observedGeneration === other.metadata.generation ? undefined : 'was changed and is on its way';
  }
  if (ready === undefined) return 'has no status yet';
  // Words of others' words grow from link to link of a chain.
  const message = ready.message ?? '';
  return `is not Ready: ${ready.reason ?? 'Unknown'}${message === '' ? '' : ` (${shortened(message)})`}`;
}

function shortened(message: string): string {
  return message.length <= 200 ? message : `${message.slice(0, 199).toWellFormed()}…`;
}

/** Who is waited for by whom, both as `<namespace>/<name>`, kept current by the watch. */
export class Dependents {
  readonly #waiting = new Map<string, Set<string>>();
  readonly #needs = new Map<string, readonly string[]>();

  /** After a change of an instance. */
  note({ metadata, spec }: ApplicationInstance, isGone: boolean): void {
    const own = metadata.namespace ?? '';
    const key = `${own}/${metadata.name}`;
    for (const need of this.#needs.get(key) ?? []) {
      const waiting = this.#waiting.get(need);
      waiting?.delete(key);
      if (waiting?.size === 0) this.#waiting.delete(need);
    }
    const needs = isGone ? [] : (spec.dependsOn ?? []).map(({ name, namespace = own }) => `${namespace}/${name}`);
    if (needs.length === 0) this.#needs.delete(key);
    else this.#needs.set(key, needs);
    for (const need of needs) this.#waiting.set(need, (this.#waiting.get(need) ?? new Set()).add(key));
  }

  of({ metadata }: ApplicationInstance): readonly string[] {
    return [...(this.#waiting.get(`${metadata.namespace ?? ''}/${metadata.name}`) ?? [])];
  }
}
