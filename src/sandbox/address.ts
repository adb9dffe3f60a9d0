import type { Attributes } from './authentication.ts';
import type { Subresource } from './object-parts.ts';

/** What a path names, before it is known whether it is served. */
export type Target =
  | { readonly type: 'path'; readonly path: string }
  | { readonly type: 'group'; readonly group: string }
  | { readonly type: 'version'; readonly group: string; readonly version: string }
  | {
      readonly type: 'resource';
      readonly group: string;
      readonly version: string;
      readonly namespace: string | undefined;
      readonly plural: string;
      readonly name: string | undefined;
      readonly subresource: Subresource;
    };

const SUBRESOURCES = new Set(['', 'status', 'finalize']);

function isSubresource(text: string): text is Subresource {
  return SUBRESOURCES.has(text);
}

/** Reads `/api/v1/namespaces/ns/configmaps/a/status` and its like. */
export function parseTarget(path: string): Target {
  const plain: Target = { type: 'path', path };
  const segments = path.replace(/\/$/, '').split('/').slice(1);
  const [root, ...rest] = segments;
  if (segments.some((segment) => segment === '')) return plain;
  if (root !== 'api' && root !== 'apis') return plain;
  const [group, version, ...tail] = root === 'api' ? ['', ...rest] : rest;
  if (group === undefined || (version === undefined && root === 'api')) return plain;
  if (version === undefined) return { type: 'group', group };
  const decoded = tail.map(decode);
  if (decoded.includes(undefined)) return plain;
  const parts = decoded.map((part) => part ?? '');
  if (parts.length === 0) return { type: 'version', group, version };
  // `/namespaces/a` and `/namespaces/a/status` are about the namespace itself.
  const inner = parts[0] === 'namespaces' && parts.length > 2 && !isSubresource(parts[2] ?? '');
  const [plural = '', name, subresource = '', ...more] = inner ? parts.slice(2) : parts;
  if (more.length > 0 || !isSubresource(subresource)) return plain;
  return { type: 'resource', group, version, namespace: inner ? parts[1] : undefined, plural, name, subresource };
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

const VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

export function attributesOf(target: Target, method: string, path: string, watch: boolean): Attributes {
  if (target.type !== 'resource') {
    const verb = method.toLowerCase();
    return { verb, group: '', resource: '', subresource: '', namespace: '', name: '', path };
  }
  const many = target.name === undefined;
  const read = watch ? 'watch' : many ? 'list' : 'get';
  const verb = method === 'DELETE' && many ? 'deletecollection' : (VERBS[method] ?? read);
  const { group, plural, subresource, namespace, name } = target;
  return { verb, group, resource: plural, subresource, namespace: namespace ?? '', name: name ?? '', path: undefined };
}
