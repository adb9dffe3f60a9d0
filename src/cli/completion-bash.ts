import type { CompletedCommand, Values } from './completion-tree.ts';

/** Completion for bash; zsh runs it too (`bashcompinit`). */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# Completion for bash, made by: servicectl completion bash

# What a command has: commands, options, those of them that take a value, and its arguments.
__servicectl_command() {
  case "$1" in
${commands.map(commandCase).join('')}  *) commands='' options='' valued='' arguments='' ;;
  esac
}

# What an option of a command takes.
__servicectl_option() {
  case "$1" in
${commands.flatMap(optionCases).join('')}  *) values='' ;;
  esac
}

_servicectl() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path='' word='' commands='' options='' valued='' arguments='' values='' pending=''
  local i=1 place=1 name=''
  local connection
  connection=()
  [ "$cur" = '=' ] && cur=''
  __servicectl_command ''
  while [ "$i" -lt "$COMP_CWORD" ]; do
    word="\${COMP_WORDS[$i]}"
    i=$((i + 1))
    case "$word" in
    =) ;;
    -*)
      case " $valued " in
      *" $word "*)
        # --option=value is three words for bash.
        [ "$i" -lt "$COMP_CWORD" ] && [ "\${COMP_WORDS[$i]}" = '=' ] && i=$((i + 1))
        if [ "$i" -lt "$COMP_CWORD" ]; then
          case "$word" in
          --server | --token-file | --context | --organization) connection+=("$word" "\${COMP_WORDS[$i]}") ;;
          esac
          i=$((i + 1))
        else
          pending="$word"
        fi
        ;;
      esac
      ;;
    *)
      case " $commands " in
      *" $word "*)
        path="\${path:+$path }$word"
        __servicectl_command "$path"
        ;;
      *) place=$((place + 1)) ;;
      esac
      ;;
    esac
  done
  if [ -n "$pending" ]; then
    __servicectl_option "$path|$pending"
  elif [ "\${cur#-}" != "$cur" ]; then
    values="$options"
  elif [ -n "$commands" ]; then
    values="$commands"
  else
    # Each argument is words with commas between them, or what is looked up.
    values="$(printf '%s\\n' $arguments | sed -n "\${place}p" | tr ',' ' ')"
  fi
  case "$values" in
  -) COMPREPLY=() ;;
  @files)
    COMPREPLY=()
    while IFS= read -r name; do COMPREPLY+=("$(printf '%q' "$name")"); done < <(compgen -f -- "$cur")
    ;;
  @*)
    # Names come from elsewhere: they are compared by hand, for what compgen -W is given it expands, commands and all.
    COMPREPLY=()
    while IFS= read -r name; do
      case "$name" in
      '' | [!A-Za-z0-9]* | *[!A-Za-z0-9._/-]*) ;;
      "$cur"*) COMPREPLY+=("$(printf '%q' "$name")") ;;
      esac
    done < <("\${COMP_WORDS[0]}" __complete "\${values#@}" "$cur" "\${connection[@]}" 2>/dev/null)
    ;;
  *) COMPREPLY=($(compgen -W "$values" -- "$cur")) ;;
  esac
}

complete -F _servicectl servicectl
`;
}

/** The same for zsh. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef servicectl
# Made by: servicectl completion zsh
autoload -U +X bashcompinit && bashcompinit
${bashCompletion(commands)}`;
}

function commandCase({ paths, commands, options, arguments: values }: CompletedCommand): string {
  const shown = options.filter(({ isHidden }) => !isHidden).flatMap(({ names }) => names);
  const valued = options.filter(({ takesValue }) => takesValue).flatMap(({ names }) => names);
  const words = (list: readonly string[]): string => `'${list.join(' ')}'`;
  const parts = [
    `commands=${words(commands.map(({ name }) => name))}`,
    `options=${words([...shown, '--help'])}`,
    `valued=${words(valued)}`,
    `arguments=${words(values.map((value) => textOf(value, ',')))}`,
  ];
  return `  ${paths.map((path) => `'${path}'`).join(' | ')}) ${parts.join(' ')} ;;\n`;
}

function optionCases({ paths, options }: CompletedCommand): readonly string[] {
  return options
    .filter(({ values }) => values !== undefined)
    .map(({ names, values }) => {
      const keys = paths.flatMap((path) => names.map((name) => `'${path}|${name}'`));
      return `  ${keys.join(' | ')}) values='${textOf(values, ' ')}' ;;\n`;
    });
}

function textOf(values: Values, between: string): string {
  if (values === undefined) return '-';
  return 'kind' in values ? `@${values.kind}` : values.words.join(between);
}
