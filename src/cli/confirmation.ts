import type { Command } from 'commander';
import { CliError, EXIT } from './cli-error.ts';

/** Of a command that cannot be taken back. */
export interface Confirmation {
  readonly yes?: boolean;
}

export function withConfirmation(command: Command): Command {
  return command.option('--yes', 'does it; without this it is only said what would be done');
}

/** @throws CliError, so that nothing is done, where the person has not said that it is meant */
export function confirm({ yes }: Confirmation, what: string): void {
  if (yes !== true) throw new CliError(EXIT.usage, `nothing was done. This ${what}`, 'If that is meant, add --yes');
}
