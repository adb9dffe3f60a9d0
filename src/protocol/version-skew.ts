import { parse, valid } from 'semver';

/** Minor versions behind the control plane that an operator may be (docs/decisions, "Versions that work together"). */
export const MINORS_BEHIND = 2;

/**
 * - `supported`: N-2 … N by minor version
 * - `tooOld`: it is served all the same, and an upgrade is due
 * - `newer`: the operator is ahead of its control plane, which is to be upgraded first
 */
export type OperatorSupport = 'supported' | 'tooOld' | 'newer';

/** What a control plane of one version says to an operator of another; undefined where either is no version. */
export function operatorSupport(controlPlane: string, operator: string): OperatorSupport | undefined {
  const n = parse(controlPlane);
  const other = parse(operator);
  if (n === null || other === null) return undefined;
  if (other.major !== n.major) return other.major < n.major ? 'tooOld' : 'newer';
  const behind = n.minor - other.minor;
  if (behind < 0) return 'newer';
  return behind <= MINORS_BEHIND ? 'supported' : 'tooOld';
}

/** `0.1` to `0.3`, in words: the minor versions that a control plane of this version works with. */
export function supportedMinors(controlPlane: string): string {
  const n = parse(controlPlane);
  if (n === null) return 'none';
  return `${n.major}.${Math.max(0, n.minor - MINORS_BEHIND)} to ${n.major}.${n.minor}`;
}

/** Whether text is a version that an image's tag can be: semver without build metadata, as it is written. */
export function isReleaseVersion(text: string): boolean {
  return text.length <= 64 && !text.includes('+') && valid(text) === text;
}

/** The version in `User-Agent: service-operator/<version>`; undefined for any other client. */
export function operatorVersionIn(userAgent: string | undefined): string | undefined {
  const [, version] = /^service-operator\/([0-9A-Za-z.-]{1,64})$/.exec(userAgent ?? '') ?? [];
  return version !== undefined && isReleaseVersion(version) ? version : undefined;
}
