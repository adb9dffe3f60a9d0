/** Code points that HFS+ ignores in names: with one of them in it, `.g\u200cit` is `.git` there. */
// eslint-disable-next-line no-misleading-character-class -- the joiners are listed one by one on purpose
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/;
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
  if (IGNORED_BY_HFS.test(component)) return 'has a character that some file systems ignore';
  if (component.includes(':')) return 'has a colon';
  if (/[. ]$/.test(component)) return 'has a segment that ends in a dot or a space';
  if (/^(\.git|git~\d+)$/i.test(component)) return `has the segment "${component}"`;
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
