import type { Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { paintOf } from './colours.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { jsonText } from './escaped-document.ts';
import { followList, type Page } from './follow-list.ts';
import { printable } from './git-views.ts';
import { limitOption, listSome } from './list-some.ts';
import { addOutput, isDocument, print, type Column, type OutputOptions } from './output.ts';
import { queryOf } from './query.ts';
import { oneLine } from './timeline-text.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

interface Event {
  readonly eventKey: string;
  readonly kind: string;
  readonly resourceRef: { readonly kind: string; readonly namespace?: string; readonly name: string };
  readonly conditions: readonly Condition[];
  readonly timestamp?: string;
  readonly receivedAt: string;
}

interface EventOptions extends ConnectionOptions, OutputOptions {
  readonly limit: number;
  readonly heartbeats?: boolean;
  readonly follow?: boolean;
}

const FIRST = 10;
const HEARTBEAT = 'ClusterHeartbeat';

const COLUMNS: readonly Column<Event>[] = [
  { header: 'RECEIVED', value: ({ receivedAt }) => receivedAt },
  { header: 'KIND', value: ({ kind }) => kind, isWide: true },
  { header: 'RESOURCE', value: resourceText },
  { header: 'CONDITIONS', value: conditionsText },
  { header: 'SAYS', value: ({ conditions }) => conditions.find(({ message = '' }) => message !== '')?.message },
  { header: 'AT', value: ({ timestamp }) => timestamp, isWide: true },
  { header: 'KEY', value: ({ eventKey }) => eventKey, isWide: true },
];

/** `servicectl events` */
export function addEventCommands(program: Command, deps: CliDeps): void {
  addOutput(withConnection(program.command('events')))
    .argument('<cluster>', 'slug or id')
    .description('prints what the operator of a cluster reported, the newest first; with --follow as it comes')
    .addOption(limitOption())
    .option('--heartbeats', 'also those that say only that it is there')
    .option('--follow', 'prints the last ten, oldest first, and goes on: each once; Ctrl-C ends it')
    .action(async (cluster: string, options: EventOptions) => {
      const path = `/clusters/${encodeURIComponent(cluster)}/events`;
      const isShown = ({ kind }: Event): boolean => options.heartbeats === true || kind !== HEARTBEAT;
      if (options.follow === true) {
        await follow({ path, cluster, isShown }, options, deps);
        return;
      }
      const items = (await listSome<Event>(options, deps, { path, query: '' })).filter(isShown);
      print(deps, options, { items, columns: COLUMNS, nameOf: ({ eventKey }) => eventKey, empty: 'There is none.' });
    });
}

async function follow(
  {
    path,
    cluster,
    isShown,
  }: { readonly path: string; readonly cluster: string; readonly isShown: (event: Event) => boolean },
  options: EventOptions,
  deps: CliDeps,
): Promise<void> {
  const paint = paintOf(deps);
  const list = {
    page: async (limit: number, cursor: string | undefined) =>
      await callControlPlane<Page<Event>>(options, deps, 'GET', `${path}?${queryOf({ limit, cursor })}`),
    // The same key may come again with something else.
    keyOf: ({ eventKey, receivedAt, conditions }: Event) => JSON.stringify([eventKey, receivedAt, conditions]),
    orderOf: ({ receivedAt }: Event) => Date.parse(receivedAt),
    changes: { resource: 'events', cluster },
  };
  await followList(list, FIRST, {
    options,
    deps,
    tell: (items) => {
      for (const event of items.filter(isShown)) {
        if (isDocument(options.output)) deps.out(`${jsonText(event)}\n`);
        else if (options.output === 'name') deps.out(printable(`${event.eventKey}\n`));
        else {
          const says = [conditionsText(event), ...event.conditions.map(({ message = '' }) => message)];
          const text = oneLine(`${resourceText(event)}  ${says.filter((part) => part !== '').join('  ')}`);
          deps.out(`${paint('dim', printable(event.receivedAt))}  ${text}\n`);
        }
      }
    },
  });
}

function resourceText({ resourceRef: { kind, namespace, name } }: Event): string {
  return [kind, namespace, name].filter((part) => part !== undefined).join('/');
}

function conditionsText({ conditions }: Event): string {
  return conditions
    .map(({ type, status, reason }) => `${type}=${status}${reason === undefined ? '' : ` (${reason})`}`)
    .join(', ');
}
