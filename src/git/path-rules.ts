/**
 * Characters that show nothing. HFS+ ignores some of them in names (`next_hfs_char` in git's utf8.c): with one of them in
 * it, `.g\u200cit` is `.git` there. The others let two names look alike.
 */
const UNSEEN = /\p{Cf}/u;
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f]/;
const MAX_COMPONENT_BYTES = 255;
const MAX_PATH_BYTES = 1024;

/** Why `component` must not be a name in a tree that any file system may check out; `undefined` when it may. */
export function componentFault(component: string): string | undefined {
  if (component === '') return 'has an empty segment';
  if (component === '.' || component === '..') return `has the segment "${component}"`;
  if (component.includes('/') || component.includes('\\')) return 'has a slash inside a segment';
  if (CONTROL.test(component)) return 'has a control character';
  if (!component.isWellFormed()) return 'has half a character';
  if (UNSEEN.test(component)) return 'has a character that some file systems ignore';
  if (component.includes(':')) return 'has a colon';
  if (/[. ]$/.test(component)) return 'has a segment that ends in a dot or a space';
  // `.git` on any file system, its short names on NTFS (`is_ntfs_dotgit` in git's path.c), and what tells git what to do:
  // `.gitmodules`, `.gitattributes`.
  if (/^(\.git|git~\d|git(mod|att|ign)~\d|gi(7eba|7d29|250a)~\d)/i.test(component)) {
    return `has the segment "${component}"`;
  }
  if (Buffer.byteLength(component) > MAX_COMPONENT_BYTES)
    return `has a segment of more than ${MAX_COMPONENT_BYTES} bytes`;
  return undefined;
}

/** Why `path` must not be written; `undefined` when it may. Relative, forward slashes, no empty segment. */
export function pathFault(path: string): string | undefined {
  if (path.startsWith('/')) return 'is absolute';
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`;
  for (const component of path.split('/')) {
    const fault = componentFault(component);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Whether `path` lies inside `directory` (not the directory itself). */
export function liesUnder(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`) && path.length > directory.length + 1;
}
