import { builtInKinds } from './built-in-kinds.ts';
import { groupVersion, resourceOf, type Kind } from './kind.ts';
import { StatusError } from './status-error.ts';

/** The kinds the server serves now: the built-in ones and those of established CustomResourceDefinitions. */
export class KindRegistry {
  readonly #custom = new Map<string, readonly Kind[]>();
  readonly #closed = new Set<string>();

  /** Replaces the versions of one custom resource, named `<plural>.<group>`. */
  register(resource: string, versions: readonly Kind[]): void {
    this.#custom.set(resource, versions);
  }

  /** Takes no new instances any more, while the existing ones are being deleted. */
  close(resource: string): void {
    this.#closed.add(resource);
  }

  /** @throws StatusError 405 when the definition of the kind is being deleted */
  checkTakesNew(kind: Kind): void {
    if (!this.#closed.has(resourceOf(kind))) return;
    const message = 'create not allowed while custom resource definition is terminating';
    throw new StatusError(405, 'MethodNotAllowed', message, { group: kind.group, kind: kind.plural });
  }

  unregister(resource: string): void {
    this.#custom.delete(resource);
    this.#closed.delete(resource);
  }

  all(): readonly Kind[] {
    return [...builtInKinds, ...[...this.#custom.values()].flat()];
  }

  byPlural(group: string, version: string, plural: string): Kind | undefined {
    return this.all().find((kind) => kind.group === group && kind.version === version && kind.plural === plural);
  }

  byKind(apiVersion: string, kind: string): Kind | undefined {
    return this.all().find((candidate) => candidate.kind === kind && groupVersion(candidate) === apiVersion);
  }

  /** Any served version of a stored resource. */
  byResource(resource: string): Kind | undefined {
    return this.#custom.get(resource)?.[0] ?? builtInKinds.find((kind) => resourceOf(kind) === resource);
  }

  hasGroupVersion(group: string, version: string): boolean {
    return this.all().some((kind) => kind.group === group && kind.version === version);
  }
}
