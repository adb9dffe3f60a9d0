import type { JsonObject } from './json-value.ts';
import { groupVersion, type Kind } from './kind.ts';
import type { KindRegistry } from './kind-registry.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const STATUS_VERBS = ['get', 'patch', 'update'];

export const versionInfo: JsonObject = {
  major: '1',
  minor: '32',
  gitVersion: 'v1.32.0-sandbox',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: 'linux/amd64',
};

function resourceEntries(kind: Kind): readonly JsonObject[] {
  const entry = {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: VERBS,
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
    storageVersionHash: '',
  };
  if (!kind.hasStatus) return [entry];
  const { namespaced, kind: name } = kind;
  return [entry, { name: `${kind.plural}/status`, singularName: '', namespaced, kind: name, verbs: STATUS_VERBS }];
}

/** `/api/v1`, `/apis/<group>/<version>`; undefined for one that nothing is served in. */
export function resourceList(registry: KindRegistry, group: string, version: string): JsonObject | undefined {
  const kinds = registry.all().filter((kind) => kind.group === group && kind.version === version);
  if (kinds.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: groupVersion({ group, version }),
    resources: kinds.flatMap(resourceEntries),
  };
}

export function apiVersions(address: string): JsonObject {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
  };
}

function groupEntry(registry: KindRegistry, name: string): JsonObject {
  const versions = [...new Set(registry.all().flatMap((kind) => (kind.group === name ? [kind.version] : [])))];
  const sorted = versions.toSorted(byPriority).map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: sorted, preferredVersion: sorted[0] };
}

/** v2, v1, v1beta2, v1beta1, v1alpha1: stable before beta before alpha, newer first. */
function byPriority(left: string, right: string): number {
  const rank = (version: string): readonly number[] => {
    const [, major = '0', stage = '', minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
    return [['', 'beta', 'alpha'].indexOf(stage), -Number(major), -Number(minor)];
  };
  const [lefts, rights] = [rank(left), rank(right)];
  for (const [index, value] of lefts.entries()) {
    const difference = value - (rights[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function groupNames(registry: KindRegistry): readonly string[] {
  return [...new Set(registry.all().map((kind) => kind.group))].filter((group) => group !== '');
}

export function groupList(registry: KindRegistry): JsonObject {
  const groups = groupNames(registry).map((name) => groupEntry(registry, name));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

export function group(registry: KindRegistry, name: string): JsonObject | undefined {
  if (!groupNames(registry).includes(name)) return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(registry, name) };
}
