/** What to do about a refusal, by the places that it names; the first that fits. */
export type Hint = (paths: readonly string[]) => string | undefined;

/** Of an intent about an application. `entry` is absent where an update names none. */
export function appHint(
  cluster: string,
  {
    namespace,
    name,
    entry,
  }: { readonly namespace: string; readonly name: string; readonly entry?: string | undefined },
): Hint {
  const hints: readonly (readonly [path: RegExp, next: string])[] = [
    [
      /^\/(catalogEntry|namespace|targetNamespace|dependsOn)/,
      `See what the cluster allows: servicectl clusters show ${cluster} -o yaml; to allow more: servicectl clusters update ${cluster} --help`,
    ],
    [/^\/chartVersion/, `See which there are: servicectl catalog versions ${entry ?? 'ENTRY'}`],
    [/^\/(values|secretValues)/, `See what the values may be: servicectl catalog show ${entry ?? 'ENTRY'} -o yaml`],
    [
      /^\/expectedGeneration/,
      `See what was asked for meanwhile: servicectl intents list --cluster ${cluster} -n ${namespace} --name ${name}`,
    ],
    [/./, `See how it stands: servicectl apps show ${cluster} ${namespace}/${name}`],
  ];
  return (paths) => hints.find(([place]) => paths.some((path) => place.test(path)))?.[1];
}
