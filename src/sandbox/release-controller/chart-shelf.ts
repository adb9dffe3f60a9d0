import { createHash } from 'node:crypto';
import { maxSatisfying } from 'semver';

/** One version of a chart that can be installed. */
export interface ShelfChart {
  /** `oci://host/path/name` for a chart in a registry, `https://host/path` of the repository for one behind an index. */
  readonly url: string;
  readonly name: string;
  readonly version: string;
  readonly appVersion: string;
  /** What the API server would say about the rendered objects, undefined when it would take them. */
  readonly validate: (release: string, values: Readonly<Record<string, unknown>>) => string | undefined;
}

/** The charts that the sandbox's registries hold. Tags are added while it runs; who fetches is told. */
export class ChartShelf {
  readonly #charts: ShelfChart[];
  readonly #listeners: (() => void)[] = [];

  constructor(charts: readonly ShelfChart[] = demoCharts()) {
    this.#charts = [...charts];
  }

  /** Adds a version, or pushes a tag anew. */
  publish(chart: ShelfChart): void {
    const at = this.#charts.findIndex((other) => sameVersion(other, chart));
    if (at === -1) this.#charts.push(chart);
    else this.#charts[at] = chart;
    for (const listener of this.#listeners) listener();
  }

  onPublish(listener: () => void): void {
    this.#listeners.push(listener);
  }

  hasUrl(url: string): boolean {
    return this.#charts.some((chart) => chart.url === url);
  }

  /** The newest version in a range, or exactly the version; undefined when none is there. */
  find(where: { readonly url: string; readonly name?: string; readonly range: string }): ShelfChart | undefined {
    const candidates = this.#charts.filter(
      (chart) => chart.url === where.url && (where.name === undefined || chart.name === where.name),
    );
    const exact = candidates.find((chart) => chart.version === where.range);
    if (exact !== undefined) return exact;
    const version = maxSatisfying(
      candidates.map((chart) => chart.version),
      where.range,
    );
    return version === null ? undefined : candidates.find((chart) => chart.version === version);
  }

  findByDigest(url: string, digest: string): ShelfChart | undefined {
    return this.#charts.find((chart) => chart.url === url && digestOf(chart) === digest);
  }
}

/** `sha256:<hex>` of a chart version, the same in every run. */
export function digestOf(chart: ShelfChart): string {
  const { url, name, version, appVersion } = chart;
  return `sha256:${createHash('sha256')
    .update(JSON.stringify([url, name, version, appVersion]))
    .digest('hex')}`;
}

/** podinfo in an OCI registry, and one chart of a classic Helm repository. */
export function demoCharts(): readonly ShelfChart[] {
  const podinfo = ['6.5.0', '6.5.4', '6.6.0', '6.6.1', '6.6.2', '6.7.0'].map((version) => ({
    url: 'oci://ghcr.io/stefanprodan/charts/podinfo',
    name: 'podinfo',
    version,
    appVersion: version,
    validate: replicaCountIsNotNatural,
  }));
  const nginx = ['2.1.0', '2.2.0'].map((version) => ({
    url: 'https://charts.example.org/stable',
    name: 'web-server',
    version,
    appVersion: `1.${version.slice(2)}`,
    validate: replicaCountIsNotNatural,
  }));
  return [...podinfo, ...nginx];
}

/** The API server's words for a Deployment whose `spec.replicas` comes from a bad `replicaCount`. */
export function replicaCountIsNotNatural(
  release: string,
  values: Readonly<Record<string, unknown>>,
): string | undefined {
  const count = values['replicaCount'];
  if (count === undefined || count === null) return undefined;
  if (typeof count !== 'number' || !Number.isInteger(count)) {
    const shown = typeof count === 'string' ? `string ${JSON.stringify(count)}` : JSON.stringify(count);
    return `Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal ${shown} into Go struct field DeploymentSpec.spec.replicas of type int32`;
  }
  if (count >= 0) return undefined;
  return `Deployment.apps "${release}" is invalid: spec.replicas: Invalid value: ${count}: must be greater than or equal to 0`;
}

function sameVersion(a: ShelfChart, b: ShelfChart): boolean {
  return a.url === b.url && a.name === b.name && a.version === b.version;
}
