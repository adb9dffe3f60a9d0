import { refusal } from '../../../protocol/parse.ts';
import { isReleaseVersion, operatorSupport, supportedMinors } from '../../../protocol/version-skew.ts';
import { PROJECT_VERSION } from '../../../runtime/project-version.ts';

/**
 * Whether operators may be told to run this version.
 *
 * @throws AppError `constraint_violated` for what is no version, or one that this control plane does not work with
 */
export function refuseOperatorVersion(version: string | null | undefined): void {
  if (version === undefined || version === null) return;
  const path = '/operatorVersion';
  if (!isReleaseVersion(version)) {
    const message = 'must be a version as an image is tagged with, like 0.2.0: no v before it, no build metadata';
    throw refusal([{ path, message }]);
  }
  const support = operatorSupport(PROJECT_VERSION, version);
  if (support === 'supported') return;
  const message = `control plane ${PROJECT_VERSION} works with operators ${supportedMinors(PROJECT_VERSION)}${support === 'newer' ? '; upgrade the control plane first' : ''}`;
  throw refusal([{ path, message }]);
}
