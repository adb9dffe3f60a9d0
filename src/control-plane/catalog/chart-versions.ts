import semver from 'semver';

/** One version of a chart, as its registry tells of it. An OCI registry's tags say the version alone. */
export interface ChartVersion {
  /** A semantic version, as an intent names it. */
  readonly version: string;
  readonly appVersion?: string;
  /** RFC 3339. */
  readonly created?: string;
  /** By the chart's author. */
  readonly deprecated?: true;
}

/** What a registry has of a chart. */
export interface ChartVersions {
  /** The newest first, by semantic version; each once. */
  readonly versions: readonly ChartVersion[];
  /** How many others it has that are no semantic versions, which no intent can name. */
  readonly leftOut: number;
}

/** Sorts what a registry gave. Of versions that say the same twice the first stays. */
export function orderVersions(found: readonly ChartVersion[], leftOut = 0): ChartVersions {
  const known = new Map<string, { readonly parsed: semver.SemVer; readonly entry: ChartVersion }>();
  let others = leftOut;
  for (const entry of found) {
    const parsed = semver.parse(entry.version);
    // `v1.2.3` reads as 1.2.3, but is not how an intent may name it.
    if (parsed === null || parsed.raw !== entry.version || !/^\d/.test(entry.version)) others += 1;
    else if (!known.has(entry.version)) known.set(entry.version, { parsed, entry });
  }
  const sorted = [...known.values()].sort((a, b) => semver.compareBuild(b.parsed, a.parsed));
  return { versions: sorted.map(({ entry }) => entry), leftOut: others };
}

/** Whether an entry's range allows a version: pre-releases only where the range names one, as intents are judged. */
export function rangeTest(range: string): (version: string) => boolean {
  const parsed = new semver.Range(range);
  return (version) => parsed.test(version);
}

/** The newest version that the range allows and that its author does not call deprecated. */
export function newestAllowed({ versions }: Pick<ChartVersions, 'versions'>, range: string): string | undefined {
  const isAllowed = rangeTest(range);
  return versions.find(({ version, deprecated }) => deprecated !== true && isAllowed(version))?.version;
}
