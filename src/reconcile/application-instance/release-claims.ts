import type { ApplicationInstance } from '../../resources/application-instance.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import { APPLICATION_INSTANCE_LABEL, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../resources/labels.ts';

/** A Helm release is known by its name and the namespace that it goes to, whatever instance asks for it. */
function releaseKeyOf({ metadata, spec }: ApplicationInstance): string {
  return `${spec.targetNamespace ?? metadata.namespace ?? ''}/${spec.releaseName ?? metadata.name}`;
}

function nameOf({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace ?? ''}/${name}`;
}

/**
 * Which instances ask for which Helm release, kept current by the watch. One of them has it: whoever took it in this
 * process, else who has a HelmRelease already, else the oldest (creationTimestamp, then namespace and name).
 */
export class ReleaseClaims {
  /** By release: the instances, by namespace and name. */
  readonly #claimants = new Map<string, Map<string, ApplicationInstance>>();
  readonly #keys = new Map<string, string>();
  readonly #holders = new Map<string, string>();

  /** After a change of an instance. Answers whose turn it may be now: `<namespace>/<name>` of others. */
  note(instance: ApplicationInstance, isGone: boolean): readonly string[] {
    const name = nameOf(instance.metadata);
    const before = this.#keys.get(name);
    const key = isGone ? undefined : releaseKeyOf(instance);
    const freed = before === undefined || before === key ? [] : this.#leave(before, name);
    if (key === undefined) {
      this.#keys.delete(name);
      return freed;
    }
    this.#keys.set(name, key);
    const claimants = this.#claimants.get(key) ?? new Map<string, ApplicationInstance>();
    claimants.set(name, instance);
    this.#claimants.set(key, claimants);
    return freed;
  }

  /**
   * Takes the release for an instance, or answers who has it.
   *
   * @param releases every HelmRelease that is known; asked for only where it matters
   */
  take(instance: ApplicationInstance, releases: () => readonly HelmRelease[]): ReleaseHolder | undefined {
    const name = nameOf(instance.metadata);
    const key = releaseKeyOf(instance);
    if (this.#holders.get(key) === name) return undefined;
    const made = releases()
      .filter((release) => isOf(release, instance))
      .map(({ metadata }) => nameOf(metadata));
    const claimants = this.#claimants.get(key);
    const others = [...(claimants?.values() ?? [])].filter(({ metadata }) => nameOf(metadata) !== name);
    const [first] = [instance, ...others].sort((a, b) => order(a, made) - order(b, made) || byAge(a, b));
    const holder = this.#holders.get(key) ?? (first === undefined ? name : nameOf(first.metadata));
    if (holder !== name) return { instance: holder, release: key };
    const left = made.includes(name) ? undefined : made.find((other) => claimants?.has(other) !== true);
    if (left !== undefined) return { helmRelease: left, release: key };
    this.#holders.set(key, name);
    return undefined;
  }

  #leave(key: string, name: string): readonly string[] {
    const claimants = this.#claimants.get(key);
    claimants?.delete(name);
    if (claimants?.size === 0) this.#claimants.delete(key);
    if (this.#holders.get(key) === name) this.#holders.delete(key);
    return [...(claimants?.keys() ?? [])];
  }
}

/** Who has a release: another instance, or a HelmRelease that was left over from one. All as `<namespace>/<name>`. */
export type ReleaseHolder =
  | { readonly instance: string; readonly helmRelease?: undefined; readonly release: string }
  | { readonly instance?: undefined; readonly helmRelease: string; readonly release: string };

function order(instance: ApplicationInstance, made: readonly string[]): number {
  return made.includes(nameOf(instance.metadata)) ? 0 : 1;
}

function byAge(a: ApplicationInstance, b: ApplicationInstance): number {
  const age = (one: ApplicationInstance): string => `${one.metadata.creationTimestamp ?? ''} ${nameOf(one.metadata)}`;
  return age(a) < age(b) ? -1 : 1;
}

/** Made of some instance, for the release that `instance` asks for. */
function isOf({ metadata, spec }: HelmRelease, instance: ApplicationInstance): boolean {
  const { labels } = metadata;
  if (labels?.[MANAGED_BY_LABEL] !== MANAGED_BY_VALUE || labels[APPLICATION_INSTANCE_LABEL] !== metadata.name) {
    return false;
  }
  const asked = instance.spec;
  return (
    (spec.releaseName ?? metadata.name) === (asked.releaseName ?? instance.metadata.name) &&
    (spec.targetNamespace ?? metadata.namespace) === (asked.targetNamespace ?? instance.metadata.namespace)
  );
}
