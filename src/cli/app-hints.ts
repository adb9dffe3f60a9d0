import { shellWord } from './shell-word.ts';

/** What to do about a refusal, by the places that it names; the first that fits. */
export type Hint = (paths: readonly string[]) => string | undefined;

/** Of an intent about an application. `entry` is absent where an update names none. */
export function appHint(
  onCluster: string,
  app: {
    readonly namespace: string;
    readonly name: string;
    readonly entry?: string | undefined;
    readonly action?: 'install' | 'update' | 'uninstall';
  },
): Hint {
  const cluster = shellWord(onCluster);
  const entry = app.entry === undefined ? 'ENTRY' : shellWord(app.entry);
  const what = shellWord(`${app.namespace}/${app.name}`);
  const there = `See which there are: servicectl apps list ${cluster}`;
  const hints: readonly (readonly [path: RegExp, next: string])[] = [
    [/^\/action/, app.action === 'install' ? `To change it: servicectl apps upgrade ${cluster} ${what} --help` : there],
    [
      /^\/(catalogEntry|namespace|targetNamespace|dependsOn)/,
      `See what the cluster allows: servicectl clusters show ${cluster} -o yaml; to allow more: servicectl clusters update ${cluster} --help`,
    ],
    [/^\/chartVersion/, `See which there are: servicectl catalog versions ${entry}`],
    [/^\/(values|secretValues)/, `See what the values may be: servicectl catalog show ${entry} -o yaml`],
    [
      /^\/expectedGeneration/,
      `See what was asked for meanwhile: servicectl intents list --cluster ${cluster} -n ${shellWord(app.namespace)} --name ${shellWord(app.name)}`,
    ],
    [/./, `See how it stands: servicectl apps show ${cluster} ${what}`],
  ];
  return (paths) => hints.find(([place]) => paths.some((path) => place.test(path)))?.[1];
}
