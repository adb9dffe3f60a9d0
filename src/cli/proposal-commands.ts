import { InvalidArgumentError, Option, type Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { printable } from './git-views.ts';
import { listAll } from './list-all.ts';
import { addOutput, print, type OutputOptions } from './output.ts';
import { diffText, PROPOSAL_COLUMNS, proposalText, type ListedProposal, type ShownDiff } from './proposal-text.ts';

const STATES = ['open', 'merging', 'merged', 'rejected', 'superseded', 'failed'] as const;

interface ActOptions extends ConnectionOptions {
  readonly comment?: string;
  readonly revision?: number;
}

type Output = ConnectionOptions & OutputOptions;

/** What each act does, and what is said when it is done. */
const ACTS = {
  approve: {
    does: 'approves a proposal; the approval that was still missing merges it, unless its cluster says manual',
  },
  reject: { does: 'rejects a proposal for good: its intent fails with the comment' },
  comment: { does: 'says something about a proposal' },
  merge: { does: 'merges a proposal that has the approvals that it needs' },
  supersede: { does: 'withdraws a proposal' },
} as const;

/** `servicectl proposals list|show|diff|approve|reject|comment|merge|supersede` */
export function addProposalCommands(program: Command, deps: CliDeps): void {
  const proposals = program.command('proposals').description('intents that wait for approval, and what became of them');

  addOutput(withConnection(proposals.command('list')))
    .description('prints the proposals, the newest first: those that are open, unless another state is asked for')
    .option('--cluster <cluster>', 'of one cluster alone: slug or id')
    .addOption(new Option('--state <state>', 'in one state').choices([...STATES, 'all']).default('open'))
    .action(async (options: Output & { readonly cluster?: string; readonly state: string }) => {
      const query = new URLSearchParams();
      if (options.cluster !== undefined) query.set('cluster', options.cluster);
      if (options.state !== 'all') query.set('state', options.state);
      const text = query.size === 0 ? '' : `?${query.toString()}`;
      const items = await listAll<ListedProposal>(options, deps, `/proposals${text}`);
      print(deps, options, { items, columns: PROPOSAL_COLUMNS, nameOf: ({ id }) => id });
    });

  addOutput(withConnection(proposals.command('show')))
    .argument('<proposal>', 'id; see servicectl proposals list')
    .description('prints a proposal with its approvals, reviews and what it changes')
    .action(async (id: string, options: Output) => {
      const proposal = await callControlPlane<ListedProposal>(options, deps, 'GET', at(id));
      print(deps, options, { item: proposal, text: proposalText, nameOf: ({ id }) => id });
    });

  addOutput(withConnection(proposals.command('diff')))
    .argument('<proposal>', 'id; see servicectl proposals list')
    .description('prints what a proposal changes as a unified diff, which patch and editors read')
    .action(async (id: string, options: Output) => {
      const diff = await callControlPlane<ShownDiff>(options, deps, 'GET', `${at(id)}/diff`);
      print(deps, options, {
        item: diff,
        text: (shown) => diffText(shown, deps.isColoured === true),
        nameOf: () => id,
      });
    });

  for (const [verb, { does }] of Object.entries(ACTS)) {
    const command = withConnection(proposals.command(verb))
      .argument('<proposal>', 'id; see servicectl proposals list')
      .description(does)
      .option('--revision <number>', 'only if this is still its revision: the one that was looked at', wholeNumber);
    const said = '--comment <text>';
    if (verb === 'comment') command.requiredOption(said, 'what is said');
    else command.option(said, 'why');
    command.action(async (id: string, { comment, revision, ...options }: ActOptions) => {
      const looked = revision ?? (verb === 'comment' ? undefined : await requireRevision(id, verb, options, deps));
      const body = {
        ...(comment === undefined ? {} : { comment }),
        ...(looked === undefined ? {} : { revision: looked }),
      };
      const proposal = await callControlPlane<ListedProposal>(options, deps, 'POST', `${at(id)}/${verb}`, body);
      deps.out(`${id}: ${stateText(proposal)}\n`);
    });
  }
}

/**
 * Which revision was looked at has to be said where something may be merged by it; the other acts count for the current one.
 *
 * @throws CliError that names the current one
 */
async function requireRevision(
  id: string,
  verb: string,
  options: ConnectionOptions,
  deps: CliDeps,
): Promise<number | undefined> {
  if (verb !== 'approve' && verb !== 'merge') return undefined;
  const { revision, title } = await callControlPlane<ListedProposal>(options, deps, 'GET', at(id));
  const message = `say which revision of ${printable(title)} you have looked at; now it is ${revision}`;
  throw new CliError(
    EXIT.usage,
    message,
    `servicectl proposals diff ${id}, then servicectl proposals ${verb} ${id} --revision ${revision}`,
  );
}

function stateText({ state, approvals: { given, missing } }: ListedProposal): string {
  if (state !== 'open') return state;
  const roles = Object.entries(missing.roles).map(([role, count]) => `${count} of role ${role}`);
  const count = missing.count === 0 ? [] : [`${missing.count} more`];
  const waits = [...count, ...roles].join(', ');
  return `open, approved by ${given.length}${waits === '' ? '; it can be merged' : `, waits for ${waits}`}`;
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is a whole number from 1.');
  return Number(text);
}

function at(id: string): string {
  return `/proposals/${encodeURIComponent(id)}`;
}
