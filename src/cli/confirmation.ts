import type { Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { printable } from './git-views.ts';

/** Of a command that cannot be taken back. */
export interface Confirmation {
  readonly yes?: boolean;
}

export function withConfirmation(command: Command): Command {
  return command.option('--yes', 'does it without asking; a program has to say it');
}

/**
 * Asks the person, who answers with y or, where `typed` is given, by typing that.
 *
 * @param what completes "This …"
 * @throws CliError, so that nothing is done, where nobody has said that it is meant
 */
export async function confirm(
  deps: Pick<CliDeps, 'terminal' | 'err' | 'interruption'>,
  { yes }: Confirmation,
  what: string,
  typed?: string,
): Promise<void> {
  if (yes === true) return;
  if (deps.terminal === undefined) {
    throw new CliError(EXIT.usage, `nothing was done. This ${what}`, 'If that is meant, add --yes');
  }
  deps.err(printable(`This ${what}.\n`));
  const question = typed === undefined ? 'Go on? [y/N] ' : `If that is meant, type ${typed}: `;
  if (deps.interruption !== undefined) deps.interruption.say = 'nothing was done';
  const answer = (await deps.terminal.ask(question))?.trim() ?? '';
  if (deps.interruption !== undefined) deps.interruption.say = undefined;
  if (typed === undefined ? /^y(es)?$/i.test(answer) : answer === typed) return;
  throw new CliError(EXIT.failed, 'nothing was done');
}
