import { Option, type Command } from 'commander';
import { APPROVAL_COLUMNS, approvalText, outcomeText, type ShownApproval } from './approval-text.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { listAll } from './list-all.ts';
import { addOutput, print, type OutputOptions } from './output.ts';

const STATES = ['pending', 'approved', 'rejected', 'expired', 'withdrawn'] as const;

type Output = ConnectionOptions & OutputOptions;

/** `servicectl approvals list|show`; `operations approve|reject`, beside the commands that are there already. */
export function addApprovalCommands(program: Command, deps: CliDeps): void {
  const approvals = program
    .command('approvals')
    .description('what operations, installs and updates need to be approved by, and what became of it');

  addOutput(withConnection(approvals.command('list')))
    .description(
      'prints the approvals that are asked for, the newest first: pending ones, unless another state is named',
    )
    .option('--cluster <cluster>', 'of one cluster alone: slug or id')
    .addOption(new Option('--state <state>', 'in one state').choices([...STATES, 'all']).default('pending'))
    .action(async (options: Output & { readonly cluster?: string; readonly state: string }) => {
      const query = new URLSearchParams();
      if (options.cluster !== undefined) query.set('cluster', options.cluster);
      if (options.state !== 'all') query.set('state', options.state);
      const text = query.size === 0 ? '' : `?${query.toString()}`;
      const items = await listAll<ShownApproval>(options, deps, `/approvals${text}`);
      print(deps, options, { items, columns: APPROVAL_COLUMNS, nameOf: ({ intentId }) => intentId });
    });

  addOutput(withConnection(approvals.command('show')))
    .argument('<approval>', 'id of the approval, or of its intent')
    .description('prints what is to be approved: the manifest, what its spec hashes to, and who has approved')
    .action(async (id: string, options: Output) => {
      const approval = await show(id, options, deps);
      print(deps, options, { item: approval, text: approvalText, nameOf: ({ intentId }) => intentId });
    });

  const group = program.commands.find((command) => command.name() === 'operations');
  addActs(group ?? program.command('operations').description('operations on clusters'), deps);
}

/** Installs, updates and uninstalls are approved by them too. */
function addActs(operations: Command, deps: CliDeps): void {
  withConnection(operations.command('approve'))
    .argument('<intent>', 'id of the intent, or of its approval; see servicectl approvals list')
    .description('approves what an intent asks for: an operation, or an install, update or uninstall')
    .option('--comment <text>', 'why')
    .option(
      '--spec-hash <hash>',
      'of the spec that was looked at, see servicectl approvals show; without it what is approved is printed',
    )
    .action(
      async (
        id: string,
        {
          comment,
          specHash,
          ...options
        }: ConnectionOptions & { readonly comment?: string; readonly specHash?: string },
      ) => {
        const shown = await show(id, options, deps);
        const { intentId } = shown;
        // Beside the outcome: this, and nothing that it may have become meanwhile, is what is approved.
        if (specHash === undefined) deps.err(`${approvalText(shown)}\n`);
        const body = { specHash: specHash ?? shown.specHash, ...(comment === undefined ? {} : { comment }) };
        deps.out(
          outcomeText(await callControlPlane<ShownApproval>(options, deps, 'POST', act(intentId, 'approve'), body)),
        );
      },
    );

  withConnection(operations.command('reject'))
    .argument('<intent>', 'id of the intent, or of its approval')
    .description('rejects what an intent asks for: it fails with the comment')
    .option('--comment <text>', 'why')
    .action(async (id: string, { comment, ...options }: ConnectionOptions & { readonly comment?: string }) => {
      const { intentId } = await show(id, options, deps);
      const body = comment === undefined ? {} : { comment };
      deps.out(
        outcomeText(await callControlPlane<ShownApproval>(options, deps, 'POST', act(intentId, 'reject'), body)),
      );
    });
}

/** By its own id, or by that of its intent, which people have at hand. */
async function show(id: string, options: ConnectionOptions, deps: CliDeps): Promise<ShownApproval> {
  if (!id.startsWith('int-')) return await callControlPlane<ShownApproval>(options, deps, 'GET', at(id));
  const path = `/intents/${encodeURIComponent(id)}`;
  const { approval } = await callControlPlane<{ readonly approval?: { readonly id: string } }>(
    options,
    deps,
    'GET',
    path,
  );
  if (approval === undefined) throw new CliError(EXIT.failed, `intent ${id} needs no approval`);
  return await callControlPlane<ShownApproval>(options, deps, 'GET', at(approval.id));
}

function at(id: string): string {
  return `/approvals/${encodeURIComponent(id)}`;
}

function act(intentId: string, verb: 'approve' | 'reject'): string {
  return `/intents/${encodeURIComponent(intentId)}/${verb}`;
}
