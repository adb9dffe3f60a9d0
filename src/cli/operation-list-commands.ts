import { Option, type Command } from 'commander';
import { systemClock } from '../runtime/clock.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { INTENT_STATES } from './intent-text.ts';
import { limitOption, listSome } from './list-some.ts';
import { OPERATION_COLUMNS, operationText, type ShownOperation } from './operation-text.ts';
import { addOutput, print, type OutputOptions } from './output.ts';
import { queryOf } from './query.ts';
import { sinceOption, timeIn } from './time-options.ts';

interface ListOptions extends ConnectionOptions, OutputOptions {
  readonly namespace?: string;
  readonly name?: string;
  readonly template?: string;
  readonly state?: string;
  readonly by?: string;
  readonly since?: string;
  readonly limit: number;
}

/** `servicectl operations list|show` */
export function addOperationListCommands(operations: Command, deps: CliDeps): void {
  addOutput(withConnection(operations.command('list')))
    .argument('[cluster]', 'slug or id (default: all clusters)')
    .description('prints the operations that were asked for, the newest first')
    .option('-n, --namespace <namespace>', 'in one namespace')
    .option('--name <name>', 'of one name')
    .option('--template <template>', 'of one template')
    .addOption(new Option('--state <state>', 'of what asked for it').choices(INTENT_STATES))
    .option('--by <who>', 'whom it was asked for by')
    .addOption(sinceOption())
    .addOption(limitOption())
    .action(async (cluster: string | undefined, options: ListOptions) => {
      const { namespace, name, template, state, by: requestedBy } = options;
      const since = timeIn(options.since, (deps.clock ?? systemClock).now());
      const query = queryOf({ cluster, namespace, name, template, state, requestedBy, since });
      const items = await listSome<ShownOperation>(options, deps, { path: '/operations', query });
      const empty = 'There is none. To run one: servicectl operations run CLUSTER TEMPLATE -n NAMESPACE';
      print(deps, options, { items, columns: OPERATION_COLUMNS, nameOf: ({ id }) => id, empty });
    });

  addOutput(withConnection(operations.command('show')))
    .argument('<operation>', 'id of its intent, or namespace/name with --cluster; see servicectl operations list')
    .option('--cluster <cluster>', 'of an operation that is named: slug or id')
    .description('prints an operation with its conditions, times and intents')
    .action(async (text: string, options: ConnectionOptions & OutputOptions & { readonly cluster?: string }) => {
      const id = text.includes('/') ? await idOf(text, options, deps) : text;
      const path = `/operations/${encodeURIComponent(id)}`;
      const operation = await callControlPlane<ShownOperation>(options, deps, 'GET', path);
      print(deps, options, { item: operation, text: operationText, nameOf: () => operation.id });
    });
}

/** Of the newest one of that name. */
async function idOf(
  text: string,
  options: ConnectionOptions & { readonly cluster?: string },
  deps: CliDeps,
): Promise<string> {
  const [namespace = '', name = '', more] = text.split('/');
  const { cluster } = options;
  if (more !== undefined || namespace === '' || name === '') {
    throw new CliError(EXIT.usage, `${text} is no operation`, 'Give the id of its intent, or namespace/name');
  }
  if (cluster === undefined) {
    throw new CliError(
      EXIT.usage,
      `say which cluster ${text} runs on`,
      `Add --cluster CLUSTER, or give the id of its intent`,
    );
  }
  const query = queryOf({ cluster, namespace, name, limit: 1 });
  const { items } = await callControlPlane<{ readonly items: readonly ShownOperation[] }>(
    options,
    deps,
    'GET',
    `/operations?${query}`,
  );
  const [newest] = items;
  if (newest !== undefined) return newest.id;
  const next = `See which there are: servicectl operations list ${cluster}`;
  throw new CliError(EXIT.failed, `there is no operation ${text} on cluster ${cluster}`, next);
}
