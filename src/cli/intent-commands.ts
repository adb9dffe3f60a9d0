import { Option, type Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import {
  INTENT_ACTIONS,
  INTENT_COLUMNS,
  INTENT_STATES,
  intentText,
  type ListedIntent,
  type ShownIntent,
} from './intent-text.ts';
import { addOutput, print, type OutputOptions } from './output.ts';
import { limitOption, listSome } from './list-some.ts';
import { queryOf } from './query.ts';
import { systemClock } from '../runtime/clock.ts';
import { sinceOption, timeIn } from './time-options.ts';
import type { Timeline } from './timeline-text.ts';

interface ListOptions extends ConnectionOptions, OutputOptions {
  readonly cluster?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly action?: string;
  readonly state?: string;
  readonly by?: string;
  readonly since?: string;
  readonly limit: number;
}

/** `servicectl intents list|show` */
export function addIntentCommands(program: Command, deps: CliDeps): void {
  const intents = program.command('intents').description('what was asked for, and the way that each of it goes');

  addOutput(withConnection(intents.command('list')))
    .description('prints the intents, the newest first')
    .option('--cluster <cluster>', 'of one cluster alone: slug or id')
    .option('-n, --namespace <namespace>', 'in one namespace')
    .option('--name <name>', 'of one application or operation')
    .addOption(new Option('--action <action>', 'of one kind').choices(INTENT_ACTIONS))
    .addOption(new Option('--state <state>', 'in one state').choices(INTENT_STATES))
    .option('--by <who>', 'whom it was asked for by')
    .addOption(sinceOption())
    .addOption(limitOption())
    .action(async (options: ListOptions) => {
      const { cluster, namespace, name, action, state, by: requestedBy, since } = options;
      const query = queryOf({
        cluster,
        namespace,
        name,
        action,
        state,
        requestedBy,
        since: timeIn(since, (deps.clock ?? systemClock).now()),
      });
      const items = await listSome<ListedIntent>(options, deps, { path: '/intents', query });
      print(deps, options, { items, columns: INTENT_COLUMNS, nameOf: ({ id }) => id, empty: 'There is none.' });
    });

  addOutput(withConnection(intents.command('show')))
    .argument('<intent>', 'id; see servicectl intents list')
    .description('prints an intent with its way: what is done, what it waits for and what is to come')
    .action(async (id: string, options: ConnectionOptions & OutputOptions) => {
      const path = `/intents/${encodeURIComponent(id)}`;
      const intent = await callControlPlane<ListedIntent>(options, deps, 'GET', path);
      const { items: timeline } = await callControlPlane<Timeline>(options, deps, 'GET', `${path}/timeline`);
      const item: ShownIntent = { ...intent, timeline };
      print(deps, options, { item, text: intentText, nameOf: () => id });
    });
}
