import { inspect } from 'node:util';
import { Command, CommanderError } from 'commander';
import { InstallOptionError } from '../install/install-options.ts';
import { PROJECT_VERSION } from '../runtime/project-version.ts';
import { addAdminTokenCommands } from './admin-token-commands.ts';
import { addAppCommands } from './app-commands.ts';
import { addAuditCommands } from './audit-commands.ts';
import { addCatalogCommands } from './catalog-commands.ts';
import { addApprovalCommands } from './approval-commands.ts';
import { addChannelCommands } from './channel-commands.ts';
import { addClientAuthorityCommand } from './client-authority-command.ts';
import { addClusterCommands } from './cluster-commands.ts';
import { addCommitSigningCommands } from './commit-signing-commands.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { addTemplateCommands } from './template-commands.ts';
import { isColoured } from './colours.ts';
import { addCompletionCommands } from './completion-commands.ts';
import { addContextCommands } from './context-commands.ts';
import { takeEverywhere, type EverywhereOptions } from './everywhere-options.ts';
import { addIntentCommands } from './intent-commands.ts';
import { addJobCommands } from './job-commands.ts';
import { addLoginCommands } from './login-commands.ts';
import { takeConnectionAnywhere } from './connection-anywhere.ts';
import { addDoctorCommand } from './doctor-command.ts';
import { addEventCommands } from './event-commands.ts';
import { addFilterCommands } from './filter-commands.ts';
import { addFleetCommand } from './fleet-command.ts';
import { addGitCommands } from './git-commands.ts';
import { printable } from './git-views.ts';
import { addMemberCommands } from './member-commands.ts';
import { addMoveLayoutCommand } from './move-layout-command.ts';
import { addNamespaceCommands } from './namespace-commands.ts';
import { addOperationCommands } from './operation-commands.ts';
import { addOperatorCommands } from './operator-commands.ts';
import { addOrganizationCommands } from './organization-commands.ts';
import { addProposalCommands } from './proposal-commands.ts';
import { addRecoveryKeyCommands } from './recovery-key-commands.ts';
import { addRepositoryCommands } from './repository-commands.ts';
import { addResealCommand } from './reseal-command.ts';
import { addSearchCommand } from './search-command.ts';
import { addSigningKeyCommands } from './signing-key-commands.ts';
import { unexpectedAnswer } from './unexpected-answer.ts';

/**
 * Every command with its options, such as the reference and completion show them. A tree is for one run: it keeps what it
 * parsed.
 *
 * @param note is told what was said that counts for every command
 */
export function commandTree(deps: CliDeps, note: (options: EverywhereOptions) => void = () => undefined): Command {
  const program = new Command('servicectl');
  program
    .description('installs operators and administers clusters')
    .version(`servicectl ${PROJECT_VERSION}`, '--version', 'prints the version')
    .addHelpText(
      'after',
      '\nExit status: 0 done, 1 refused or no answer, 2 wrong command line, 3 apps: not yet when the time was up.\n`apps diff` has its own, as diff has.',
    )
    .addHelpText('afterAll', ({ command }) =>
      command.parent === null ? '' : `\nOptions of every command: servicectl --help`,
    )
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ writeOut: deps.out, writeErr: deps.err });
  addLoginCommands(program, deps);
  addContextCommands(program, deps);
  addOperatorCommands(program, deps);
  addNamespaceCommands(program, deps);
  addClusterCommands(program, deps);
  addAppCommands(program, deps);
  addIntentCommands(program, deps);
  addJobCommands(program, deps);
  addEventCommands(program, deps);
  addAuditCommands(program, deps);
  addFleetCommand(program, deps);
  addSearchCommand(program, deps);
  addFilterCommands(program, deps);
  addCatalogCommands(program, deps);
  addChannelCommands(program, deps);
  addSigningKeyCommands(program, deps);
  addCommitSigningCommands(program, deps);
  addAdminTokenCommands(program, deps);
  addMemberCommands(program, deps);
  addOrganizationCommands(program, deps);
  addTemplateCommands(program, deps);
  addOperationCommands(program, deps);
  addProposalCommands(program, deps);
  addRepositoryCommands(program, deps);
  addRecoveryKeyCommands(program, deps);
  addResealCommand(program, deps);
  addClientAuthorityCommand(program, deps);
  addGitCommands(program, deps);
  addMoveLayoutCommand(program, deps);
  addApprovalCommands(program, deps);
  addDoctorCommand(program, deps);
  addCompletionCommands(program, deps);
  takeConnectionAnywhere(program);
  takeEverywhere(program, note);
  inherit(program);
  return program;
}

/**
 * Runs one command.
 *
 * @returns the exit status: 0, 1 when a control plane or a cluster refused, 2 for a command line that cannot be used,
 *   3 when the time was up
 */
export async function servicectl(args: readonly string[], given: CliDeps): Promise<number> {
  let said: EverywhereOptions = { color: 'auto', isQuiet: false };
  const deps: CliDeps = Object.defineProperties(
    { ...given },
    { isColoured: { get: () => isColoured(said.color, given) }, isQuiet: { get: () => said.isQuiet } },
  );
  const program = commandTree(deps, (options) => (said = options));
  let failing = program;
  rememberFailing(program, (command) => (failing = command));
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usage(error, failing, deps);
    if (error instanceof InstallOptionError) {
      deps.err(printable(`servicectl: ${error.message}\n`));
      return EXIT.usage;
    }
    const known = error instanceof CliError ? error : unexpectedAnswer(error);
    if ((deps.env['SERVICECTL_DEBUG'] ?? '') !== '') deps.err(printable(`${inspect(error)}\n`));
    // What was printed says it all, such as a diff.
    if (known.message !== '')
      deps.err(printable(`servicectl: ${known.message}\n${known.next === undefined ? '' : `${known.next}\n`}`));
    return known.exitCode;
  }
}

/** The library has printed its own line already; help that was asked for is no error. */
function usage(error: CommanderError, failing: Command, deps: CliDeps): number {
  if (error.code !== 'commander.help') deps.err(`See: ${wordsOf(failing)} --help\n`);
  return EXIT.usage;
}

/** As it is typed: `servicectl git log`. */
function wordsOf(command: Command): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;
}

/** The library's error does not say which command could not be run. */
function rememberFailing(command: Command, note: (command: Command) => void): void {
  command.exitOverride((error) => {
    note(command);
    throw error;
  });
  for (const child of command.commands) rememberFailing(child, note);
}

/** Each command has its own settings; those for exits and output are everywhere the same. */
function inherit(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inherit(child);
  }
}
