import type { Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { toneOf, type Paint } from './colours.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { addOutput, factsText, print, sectionText, type Column, type Fact, type OutputOptions } from './output.ts';
import { queryOf } from './query.ts';

type Counts = Readonly<Record<string, number>>;

interface Group {
  readonly value?: string;
  readonly clusters: number;
  readonly byHealth: Counts;
}

interface Fleet {
  readonly clusters: {
    readonly total: number;
    readonly byHealth: Counts;
    readonly byMode: Counts;
    readonly byStatus: Counts;
  };
  readonly intents: { readonly waiting: number; readonly byState: Counts };
  readonly approvals: { readonly pending: number };
  readonly proposals: { readonly open: number };
  readonly groups?: readonly Group[];
  readonly groupsLeftOut?: number;
}

interface FleetOptions extends ConnectionOptions, OutputOptions {
  readonly groupBy?: string;
  readonly selector?: string;
}

/** `servicectl fleet` */
export function addFleetCommand(program: Command, deps: CliDeps): void {
  addOutput(withConnection(program.command('fleet')))
    .description('prints the clusters in numbers: by health, mode and status, and what waits for whom')
    .option('-l, --selector <labels>', 'of those with these labels: team=shop,env!=dev')
    .option('--group-by <label>', 'also by the values of a label')
    .action(async (options: FleetOptions) => {
      const { groupBy, selector: label } = options;
      const path = `/fleet?${queryOf({ groupBy, label })}`;
      const item = await callControlPlane<Fleet>(options, deps, 'GET', path);
      print(deps, options, { item, text: (fleet, how) => fleetText(fleet, groupBy, how), nameOf: () => 'fleet' });
    });
}

function fleetText(
  { clusters, intents, approvals, proposals, groups = [], groupsLeftOut = 0 }: Fleet,
  groupBy: string | undefined,
  how: { readonly isWide?: boolean; readonly paint?: Paint },
): string {
  const facts: readonly Fact[] = [
    ['clusters', clusters.total],
    ['health', countsText(clusters.byHealth), worstOf(clusters.byHealth)],
    ['modes', countsText(clusters.byMode)],
    ['status', countsText(clusters.byStatus)],
    ['intents on their way', `${intents.waiting}${intents.waiting === 0 ? '' : ` (${countsText(intents.byState)})`}`],
    ['approvals', `${approvals.pending} pending${approvals.pending === 0 ? '' : ': servicectl approvals list'}`],
    ['proposals', `${proposals.open} open${proposals.open === 0 ? '' : ': servicectl proposals list'}`],
  ];
  const columns: readonly Column<Group>[] = [
    { header: (groupBy ?? '').toUpperCase(), value: ({ value }) => value },
    { header: 'CLUSTERS', value: ({ clusters: count }) => count },
    { header: 'HEALTH', value: ({ byHealth }) => countsText(byHealth), tone: ({ byHealth }) => worstOf(byHealth) },
  ];
  const rest = groupsLeftOut === 0 ? '' : `and ${groupsLeftOut} smaller groups\n`;
  return `${factsText(facts, how.paint)}${sectionText(groups, columns, how)}${rest}`;
}

/** Without those that there are none of. */
function countsText(counts: Counts): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.length === 0 ? '-' : some.map(([name, count]) => `${count} ${name}`).join(', ');
}

function worstOf(byHealth: Counts): ReturnType<typeof toneOf> {
  const worst = ['unreachable', 'degraded', 'progressing', 'healthy'].find((health) => (byHealth[health] ?? 0) > 0);
  return toneOf(worst ?? '-');
}
