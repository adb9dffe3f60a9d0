import { Option, type Command } from 'commander';

/** What every command takes, before its name and behind it. */
export interface EverywhereOptions {
  readonly color: 'auto' | 'always' | 'never';
  readonly isQuiet: boolean;
}

/**
 * Adds `--color` and `--quiet` to all commands. Call it once all commands are there.
 *
 * @param take is told what was said, before a command runs
 */
export function takeEverywhere(program: Command, take: (options: EverywhereOptions) => void): void {
  addTo(program);
  program.hook('preAction', (_program, action) => {
    const color = nearest(action, 'color');
    take({
      color: color === 'always' || color === 'never' ? color : 'auto',
      isQuiet: nearest(action, 'quiet') === true,
    });
  });
}

function addTo(command: Command): void {
  const isBelow = command.parent !== null;
  command.addOption(
    new Option('--color <when>', 'auto: in a terminal alone, and not with NO_COLOR')
      .choices(['auto', 'always', 'never'])
      .hideHelp(isBelow),
  );
  command.addOption(new Option('--quiet', 'says nothing about what is waited for').hideHelp(isBelow));
  for (const child of command.commands) addTo(child);
}

function nearest(action: Command, name: string): unknown {
  for (let command: Command | null = action; command !== null; command = command.parent) {
    const value: unknown = command.getOptionValue(name);
    if (value !== undefined) return value;
  }
  return undefined;
}
