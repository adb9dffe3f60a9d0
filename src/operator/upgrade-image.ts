import { valid } from 'semver';

/** What becomes of an image when another version is asked for. */
export type UpgradedImage =
  | { readonly state: 'tagged'; readonly image: string; readonly version: string }
  /** It does not name a version in its tag, so there is nothing to move on. */
  | { readonly state: 'pinned'; readonly why: string };

/**
 * The same repository with the tag of another version. A tag that names no version (`latest`, a branch) and a digest are
 * somebody's decision about what runs, and stay.
 */
export function upgradeImage(image: string, version: string): UpgradedImage {
  if (image.includes('@')) return { state: 'pinned', why: `the image ${image} is pinned by its digest` };
  // A colon before the last slash belongs to the registry's port.
  const colon = image.indexOf(':', image.lastIndexOf('/') + 1);
  const tag = colon === -1 ? '' : image.slice(colon + 1);
  const [, v = '', number = ''] = /^(v?)(\d.*)$/.exec(tag) ?? [];
  if (valid(number) === null) {
    return { state: 'pinned', why: `the tag of the image ${image} does not name a version` };
  }
  return { state: 'tagged', image: `${image.slice(0, colon)}:${v}${version}`, version: number };
}
