import semver from 'semver';

/**
 * Whether Flux' version is the wanted one. From an OCIRepository it carries the digest as build metadata
 * (`6.6.1+0cc9a8446c95`), and build metadata does not order versions (semver 2.0.0, item 10).
 */
export function isChartVersion(observed: string | undefined, wanted: string): boolean {
  if (observed === undefined) return false;
  return observed === wanted || withoutBuild(observed) === withoutBuild(wanted);
}

export function withoutBuild(version: string): string {
  return semver.parse(version)?.version ?? version.split('+')[0] ?? version;
}

/** A tag may hold no `+`; Helm pushes `1.0.0+build` as `1.0.0_build`. */
export function tagOf(version: string): string {
  return version.replaceAll('+', '_');
}
