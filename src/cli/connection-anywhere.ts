import type { Command } from 'commander';
import { CONNECTION_OPTIONS, withConnection } from './connection.ts';

const NAMES = CONNECTION_OPTIONS;

/**
 * Lets `--server` and `--token-file` stand before a command's name too, as people know it of kubectl; what stands nearest to
 * the action's own arguments counts. Call it once all commands are there.
 */
export function takeConnectionAnywhere(program: Command): void {
  program.enablePositionalOptions();
  addToGroups(program);
  program.hook('preAction', (_program, action) => {
    for (const name of NAMES) handDown(action, name);
  });
}

/** Adds the options to a command with commands, where any of these takes them. */
function addToGroups(command: Command): boolean {
  const isTakenBelow = command.commands.map(addToGroups).includes(true);
  if (isTakenBelow) withConnection(command);
  return isTakenBelow || takes(command, 'server');
}

function handDown(action: Command, name: (typeof NAMES)[number]): void {
  if (action.getOptionValueSource(name) !== undefined) return;
  for (let group = action.parent; group !== null; group = group.parent) {
    if (group.getOptionValueSource(name) === undefined) continue;
    if (!takes(action, name)) {
      const option = group.options.find((candidate) => candidate.attributeName() === name);
      // Passed over, it would seem to have been followed.
      action.error(`error: option '${option?.flags}' is not for ${action.name()}, which calls no control plane`);
    }
    action.setOptionValue(name, group.getOptionValue(name));
    return;
  }
}

function takes(command: Command, name: string): boolean {
  return command.options.some((option) => option.attributeName() === name);
}
