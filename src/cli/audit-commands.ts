import { Option, type Command } from 'commander';
import { systemClock } from '../runtime/clock.ts';
import type { CliDeps } from './cli-deps.ts';
import { paintOf } from './colours.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { jsonText } from './escaped-document.ts';
import { followList, type Page } from './follow-list.ts';
import { printable } from './git-views.ts';
import { limitOption, listSome } from './list-some.ts';
import { addOutput, isDocument, print, type Column, type OutputOptions } from './output.ts';
import { queryOf } from './query.ts';
import { sinceOption, timeIn, untilOption } from './time-options.ts';
import { oneLine } from './timeline-text.ts';

interface Entry {
  readonly id: number;
  readonly at: string;
  readonly source: string;
  readonly kind: string;
  readonly clusterId?: string;
  readonly actor?: string;
  readonly summary: string;
  readonly reason?: string;
  readonly resourceRef?: { readonly kind: string; readonly namespace?: string; readonly name: string };
  readonly intentId?: string;
}

interface AuditOptions extends ConnectionOptions, OutputOptions {
  readonly cluster?: string;
  readonly source?: string;
  readonly kind?: string;
  readonly by?: string;
  readonly intent?: string;
  readonly since?: string;
  readonly until?: string;
  readonly search?: string;
  readonly resource?: string;
  readonly limit: number;
  readonly follow?: boolean;
}

const COLUMNS: readonly Column<Entry>[] = [
  { header: 'AT', value: ({ at }) => at },
  { header: 'WHO', value: whoOf },
  { header: 'KIND', value: ({ kind }) => kind },
  { header: 'ID', value: ({ id }) => id, isWide: true },
  { header: 'CLUSTER', value: ({ clusterId }) => clusterId, isWide: true },
  { header: 'INTENT', value: ({ intentId }) => intentId, isWide: true },
  { header: 'RESOURCE', value: ({ resourceRef }) => resourceText(resourceRef), isWide: true },
  { header: 'SUMMARY', value: ({ summary }) => summary },
  { header: 'BECAUSE', value: ({ reason }) => reason, isWide: true },
];

/** `servicectl audit list`, which `servicectl audit` is short for. */
export function addAuditCommands(program: Command, deps: CliDeps): void {
  const audit = program.command('audit').description('who did what, and what operators reported');
  addOutput(withConnection(audit.command('list', { isDefault: true })))
    .description('prints the entries of the audit log, the newest first; with --follow as they come')
    .option('--cluster <cluster>', 'about one cluster: slug or id')
    .addOption(new Option('--source <source>', 'of people or of operators').choices(['user', 'agent']))
    .option('--kind <kind>', 'of one kind, such as Deploy or ApprovalGiven')
    .option('--by <who>', 'by whom')
    .option('--intent <intent>', 'about one intent: its id')
    .option('--resource <kind/namespace/name>', 'what a report is about; kind/name in any namespace')
    .option('--search <text>', 'part of what is said')
    .addOption(sinceOption('then or later'))
    .addOption(untilOption('before then'))
    .addOption(limitOption())
    .option('--follow', 'prints the last ten, oldest first, and goes on: each entry once; Ctrl-C ends it')
    .action(async (options: AuditOptions) => {
      const now = (deps.clock ?? systemClock).now();
      const { cluster, source, kind, by: actor, intent, resource, search: q } = options;
      const since = timeIn(options.since, now);
      const until = timeIn(options.until, now);
      const query = queryOf({ cluster, source, kind, actor, intent, resource, q, since, until });
      if (options.follow === true) await follow(query, options, deps);
      else {
        const items = await listSome<Entry>(options, deps, { path: '/audit', query });
        print(deps, options, { items, columns: COLUMNS, nameOf: ({ id }) => String(id), empty: 'There is none.' });
      }
    });
}

const FIRST = 10;

async function follow(query: string, options: AuditOptions, deps: CliDeps): Promise<void> {
  const paint = paintOf(deps);
  const list = {
    page: async (limit: number, cursor: string | undefined) => {
      const more = queryOf({ limit, cursor });
      return await callControlPlane<Page<Entry>>(
        options,
        deps,
        'GET',
        `/audit?${query}${query === '' ? '' : '&'}${more}`,
      );
    },
    keyOf: ({ id }: Entry) => String(id),
    orderOf: ({ id }: Entry) => id,
    // Those of the organization itself are about no cluster, and one filter of many.
    changes: { resource: 'audit', cluster: options.cluster },
  };
  await followList(list, FIRST, {
    options,
    deps,
    tell: (items) => {
      for (const entry of items) {
        if (isDocument(options.output)) deps.out(`${jsonText(entry)}\n`);
        else if (options.output === 'name') deps.out(printable(`${entry.id}\n`));
        else {
          const more = options.output === 'wide' && entry.reason !== undefined ? ` (${entry.reason})` : '';
          deps.out(
            `${paint('dim', entry.at)}  ${oneLine(`${whoOf(entry)}  ${entry.kind}  ${entry.summary}${more}`)}\n`,
          );
        }
      }
    },
  });
}

function whoOf({ actor, source }: Entry): string {
  return actor ?? (source === 'agent' ? 'operator' : source);
}

function resourceText(ref: Entry['resourceRef']): string | undefined {
  if (ref === undefined) return undefined;
  return [ref.kind, ref.namespace, ref.name].filter((part) => part !== undefined).join('/');
}
