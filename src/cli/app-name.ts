import { CliError, EXIT } from './cli-error.ts';
import type { CliDeps } from './cli-deps.ts';
import type { ConnectionOptions } from './connection.ts';
import { listAll } from './list-all.ts';
import type { ListedApp } from './app-text.ts';
import { shellWord } from './shell-word.ts';

export interface AppName {
  readonly namespace: string;
  readonly name: string;
}

/** `name` with `-n`, or `namespace/name`. @throws CliError where no namespace is said, or two */
export function appNameIn(text: string, namespace: string | undefined): AppName {
  const found = splitName(text, namespace);
  if (found.namespace !== undefined) return { ...found, namespace: found.namespace };
  throw new CliError(
    EXIT.usage,
    `say in which namespace ${text} is to be`,
    `Add -n NAMESPACE, or write NAMESPACE/${text}`,
  );
}

/**
 * The same of one that is there: without a namespace the only one of that name is meant.
 *
 * @throws CliError that names those that might be meant
 */
export async function knownAppName(
  cluster: string,
  { text, namespace }: { readonly text: string; readonly namespace: string | undefined },
  options: ConnectionOptions,
  deps: CliDeps,
): Promise<AppName> {
  const found = splitName(text, namespace);
  if (found.namespace !== undefined) return { ...found, namespace: found.namespace };
  const path = `/clusters/${encodeURIComponent(cluster)}/applications?limit=500&q=${encodeURIComponent(text)}`;
  const alike = (await listAll<ListedApp>(options, deps, path)).filter(({ name }) => name === text);
  const [one] = alike;
  if (one !== undefined && alike.length === 1) return { namespace: one.namespace, name: one.name };
  const next = `See which there are: servicectl apps list ${shellWord(cluster)}`;
  if (one === undefined) throw new CliError(EXIT.failed, `there is no application ${text} on cluster ${cluster}`, next);
  const where = alike.map((app) => `${app.namespace}/${app.name}`).join(', ');
  throw new CliError(EXIT.usage, `${text} may be ${where}`, 'Say which: -n NAMESPACE');
}

export function appPath(cluster: string, { namespace, name }: AppName): string {
  return `/clusters/${encodeURIComponent(cluster)}/applications/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

function splitName(
  text: string,
  namespace: string | undefined,
): { readonly namespace?: string; readonly name: string } {
  const [first = '', second, third] = text.split('/');
  if (third !== undefined || first === '' || second === '') {
    throw new CliError(
      EXIT.usage,
      `${text} is no name of an application`,
      'Write it as NAME with -n NAMESPACE, or NAMESPACE/NAME',
    );
  }
  if (second === undefined) return { name: first, ...(namespace === undefined ? {} : { namespace }) };
  if (namespace !== undefined && namespace !== first) {
    throw new CliError(EXIT.usage, `${text} is in the namespace ${first}, and -n says ${namespace}`);
  }
  return { namespace: first, name: second };
}
