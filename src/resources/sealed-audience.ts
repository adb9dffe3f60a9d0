/** `aud` of sealed values: they open for this cluster, namespace and name alone (decisions, "Custom resources"). */
export function sealedAudience(clusterId: string, namespace: string, name: string): string {
  return `${clusterId}/${namespace}/${name}`;
}
