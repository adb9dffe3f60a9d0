import { createHash } from 'node:crypto';
import { parse } from 'yaml';
import type { ClusterApi } from '../../kube/cluster-api.ts';
import { canonicalJson } from '../../protocol/canonical-json.ts';
import type { HelmReleaseSpec } from '../../resources/flux-helm-release.ts';

export type Values = Record<string, unknown>;

/** A value reference that cannot be resolved; the message is what Flux puts into Ready, reason `ValuesError`. */
export class ValuesError extends Error {}

/** Merges the referenced Secrets and ConfigMaps in their order, then the inline values over them. */
export async function chartValues(
  api: ClusterApi,
  namespace: string,
  spec: HelmReleaseSpec,
  signal: AbortSignal,
): Promise<Values> {
  let merged: Values = {};
  for (const from of spec.valuesFrom ?? []) {
    const key = from.valuesKey ?? 'values.yaml';
    const where = `${from.kind} chart values reference '${namespace}/${from.name}' with key '${key}'`;
    const source = await api.get({ apiVersion: 'v1', kind: from.kind, namespace, name: from.name }, signal);
    const text = source === undefined ? undefined : textAt(source['data'], key, from.kind === 'Secret');
    if (text === undefined) {
      if (from.optional === true) continue;
      const problem = source === undefined ? `${from.kind} not found` : 'missing key';
      throw new ValuesError(`could not resolve ${where}: ${problem}`);
    }
    merged =
      from.targetPath === undefined ? mergeValues(merged, parsed(text, where)) : setPath(merged, from.targetPath, text);
  }
  return mergeValues(merged, spec.values ?? {});
}

/** `sha256:<hex>` of the values, whatever the order of their keys. */
export function configDigest(values: Values): string {
  return `sha256:${createHash('sha256').update(canonicalJson(values)).digest('hex')}`;
}

/** Helm's merge: maps deeply, everything else replaced. */
export function mergeValues(below: Values, above: Values): Values {
  const merged: Values = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const old = merged[key];
    merged[key] = isMap(old) && isMap(value) ? mergeValues(old, value) : value;
  }
  return merged;
}

function textAt(data: unknown, key: string, isSecret: boolean): string | undefined {
  if (!isMap(data)) return undefined;
  const value = data[key];
  if (typeof value !== 'string') return undefined;
  return isSecret ? Buffer.from(value, 'base64').toString('utf8') : value;
}

function parsed(text: string, where: string): Values {
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    // The parser's own words would quote the text, which may be secret.
    throw new ValuesError(`unable to read values from ${where}: not YAML`);
  }
  if (value === null) return {};
  if (!isMap(value)) throw new ValuesError(`unable to read values from ${where}: not a map`);
  return value;
}

/** `a.b.c` set to one scalar, as `helm --set` does. */
function setPath(values: Values, path: string, text: string): Values {
  const scalar: unknown = parse(text.trim());
  return mergeValues(
    values,
    path
      .split('.')
      .reduceRight<Values>(
        (inner, part, index, parts) => ({ [part]: index === parts.length - 1 ? scalar : inner }),
        {},
      ),
  );
}

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
