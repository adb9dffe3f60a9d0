import { InvalidArgumentError, Option, type Command } from 'commander';
import { readValues, type GivenValues, type ValuesOptions } from './app-values.ts';
import { collectSet, collectSetString } from './value-assignments.ts';

/** What install, upgrade and diff take beside the names. */
export interface AppOptions extends ValuesOptions {
  readonly entry?: string;
  readonly version?: string;
  readonly dependsOn?: readonly Dependency[];
  readonly independent?: boolean;
  readonly upgradeTimeout?: string;
  readonly retries?: number;
  readonly remediation?: string;
  readonly driftDetection?: string;
  readonly driftIgnore?: readonly DriftRule[];
  readonly suspend?: boolean;
  readonly deletionPolicy?: string;
  readonly releaseName?: string;
  readonly targetNamespace?: string;
  readonly expectGeneration?: number;
  readonly reason?: string;
}

interface Dependency {
  readonly name: string;
  readonly namespace?: string;
}

interface DriftRule {
  readonly paths: readonly string[];
  readonly target?: { readonly kind: string; readonly name?: string };
}

/** Adds them; see docs/instances.md. */
export function withAppOptions(command: Command): Command {
  return command
    .option('--entry <entry>', 'catalog entry; see servicectl catalog list')
    .option('--version <version>', 'of the chart; see servicectl catalog versions')
    .addOption(
      new Option(
        '-f, --values <file>',
        'values as YAML or JSON; again for more, the later over the earlier; - reads standard input',
      ).argParser(collect),
    )
    .addOption(new Option('--set <a.b=value>', 'one value over those of files; again for more').argParser(collectSet))
    .addOption(new Option('--set-string <a.b=text>', 'the same, always as text').argParser(collectSetString))
    .option('--secret-values <file>', "secret values, sealed to the cluster's key at once; - reads standard input")
    .addOption(
      new Option('--depends-on <[namespace/]name>', 'waits until that application is ready; again for more').argParser(
        collectDependency,
      ),
    )
    .option('--upgrade-timeout <time>', 'of one try, such as 10m')
    .addOption(new Option('--retries <number>', 'further tries after the first one failed').argParser(wholeNumber))
    .addOption(
      new Option('--remediation <what>', 'after the last failed try').choices(['rollback', 'uninstall', 'none']),
    )
    .addOption(new Option('--drift-detection <how>', 'of what others change').choices(['enabled', 'warn', 'disabled']))
    .addOption(
      new Option(
        '--drift-ignore <[kind[/name]:]pointer>',
        'what drift detection leaves alone, such as Deployment:/spec/replicas; again for more',
      ).argParser(collectDrift),
    )
    .option('--suspend', 'nothing is reconciled, what runs keeps running')
    .option('--no-suspend', 'goes on after a suspension')
    .addOption(
      new Option('--deletion-policy <policy>', 'what an uninstall does with the release').choices(['Delete', 'Orphan']),
    )
    .option('--release-name <name>', 'of the Helm release; cannot be changed later')
    .option('--target-namespace <namespace>', 'to install into; cannot be changed later')
    .addOption(expectGeneration())
    .option('--reason <text>', 'why, for commits and the audit log');
}

/** Of what changes something that is there already. */
export function withResets(command: Command): Command {
  return command
    .option('--reset-values', "only the entry's default values, with what is given here over them")
    .option('--reset-secret-values', 'takes the secret values away')
    .option('--independent', 'takes the dependencies away');
}

export function expectGeneration(): Option {
  return new Option(
    '--expect-generation <number>',
    'only if nobody asked for anything about it since that one',
  ).argParser(wholeNumber);
}

/** The members of an intent that the options say. @throws CliError */
export async function readAppOptions(
  options: AppOptions,
): Promise<GivenValues & { readonly members: Record<string, unknown> }> {
  const given = await readValues(options);
  const { upgradeTimeout: timeout, retries, remediation, driftIgnore = [], dependsOn = [] } = options;
  const upgrade = present({ timeout, retries, remediation });
  const members = present({
    catalogEntry: options.entry,
    chartVersion: options.version,
    dependsOn: dependsOn.length > 0 ? dependsOn : options.independent === true ? [] : undefined,
    upgrade: Object.keys(upgrade).length === 0 ? undefined : upgrade,
    driftDetection: options.driftDetection,
    driftIgnore: driftIgnore.length === 0 ? undefined : driftIgnore,
    suspend: options.suspend,
    deletionPolicy: options.deletionPolicy,
    releaseName: options.releaseName,
    targetNamespace: options.targetNamespace,
    expectedGeneration: options.expectGeneration,
    reason: options.reason,
    ...given.body,
  });
  return { ...given, members };
}

function present(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

function collectDependency(text: string, before: readonly Dependency[] = []): Dependency[] {
  const parts = text.split('/');
  const [first = '', second] = parts;
  if (parts.length > 2 || parts.includes('')) throw new InvalidArgumentError('It is a name, or namespace/name.');
  return [...before, second === undefined ? { name: first } : { namespace: first, name: second }];
}

/** Pointers of one target stand together, in one rule. */
function collectDrift(text: string, before: readonly DriftRule[] = []): DriftRule[] {
  const [, kind, name, pointer = ''] = /^(?:([A-Za-z0-9]+)(?:\/([^:/]+))?:)?(\/.*)$/.exec(text) ?? [];
  if (pointer === '')
    throw new InvalidArgumentError('It is a JSON pointer, with what it is of: Deployment/web:/spec/replicas.');
  const target = kind === undefined ? {} : { target: { kind, ...(name === undefined ? {} : { name }) } };
  const same = JSON.stringify(target.target);
  const place = before.findIndex((rule) => JSON.stringify(rule.target) === same);
  const rule = before[place];
  if (rule === undefined) return [...before, { paths: [pointer], ...target }];
  return before.with(place, { ...rule, paths: [...rule.paths, pointer] });
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is a whole number from 0.');
  return Number(text);
}
