/** `<kind>/<namespace>/<name>@<generation>`, kind in lower case (specification, "Job"). `generation` counts intents. */
export function objectIdempotencyKey(kind: string, namespace: string, name: string, generation: number): string {
  return `${kind.toLowerCase()}/${namespace}/${name}@${generation}`;
}
