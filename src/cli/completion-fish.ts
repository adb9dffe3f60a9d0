import type { CompletedCommand, CompletedOption, Values } from './completion-tree.ts';

/** Completion for fish. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const paths = commands.flatMap((command) => command.paths).filter((path) => path !== '');
  return `# Completion for fish, made by: servicectl completion fish
set -g __servicectl_paths ${paths.map(quoted).join(' ')}

# The command that is typed so far, without its arguments and options.
function __servicectl_path
    set -l path
    for word in (commandline -opc)[2..-1]
        set -l longer (string join ' ' $path $word)
        contains -- $longer $__servicectl_paths; and set path (string split ' ' $longer)
    end
    string join ' ' $path
end

function __servicectl_at
    set -l path (__servicectl_path)
    test "$path" = "$argv[1]"
end

function __servicectl_look_up
    set -l connection
    set -l words (commandline -opc)
    for i in (seq (count $words))
        if contains -- $words[$i] --server --token-file --context --organization
            set -a connection $words[$i] $words[(math $i + 1)]
        end
    end
    $words[1] __complete $argv[1] (commandline -ct) $connection 2>/dev/null
end

complete -c servicectl -f
${commands.flatMap(linesOf).join('')}`;
}

function linesOf(command: CompletedCommand): readonly string[] {
  return command.paths.flatMap((path) => {
    const begin = `complete -c servicectl -n ${quoted(`__servicectl_at ${quoted(path)}`)}`;
    return [
      ...command.commands.map(({ name, description }) => `${begin} -a ${name} -d ${quoted(description)}\n`),
      ...command.options.filter(({ isHidden }) => !isHidden).map((option) => `${begin}${optionText(option)}\n`),
      ...command.arguments.flatMap((values) => (values === undefined ? [] : [`${begin}${valuesText(values)}\n`])),
    ];
  });
}

function optionText({ names, takesValue, values, description }: CompletedOption): string {
  const flags = names.map((name) => (name.startsWith('--') ? ` -l ${name.slice(2)}` : ` -s ${name.slice(1)}`));
  const value = !takesValue ? '' : values === undefined ? ' -x' : ` -r${valuesText(values)}`;
  return `${flags.join('')}${value} -d ${quoted(description)}`;
}

function valuesText(values: NonNullable<Values>): string {
  if ('words' in values) return ` -a ${quoted(values.words.join(' '))}`;
  return values.kind === 'files' ? ' -F' : ` -a ${quoted(`(__servicectl_look_up ${values.kind})`)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}
