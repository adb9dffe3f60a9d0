/** One simple command of a shell block: its words as the shell hands them on, without redirections. */
export interface FencedCommand {
  readonly document: string;
  /** Of the document, where the command begins. */
  readonly line: number;
  readonly words: readonly string[];
  /** What is read from standard input: another command's output, a file, or nothing. */
  readonly isFed: boolean;
}

export interface FencedBlock {
  readonly document: string;
  readonly line: number;
  readonly text: string;
}

/** The blocks of a document that a reader types into a shell; of `console` the lines behind `$`. */
export function shellBlocks(document: string, text: string): FencedBlock[] {
  return [...text.matchAll(/^( *)```(sh|bash|console)\n([\s\S]*?)^ *```$/gm)].map((match) => {
    const [, indent = '', language, body = ''] = match;
    const lines = body.split('\n').map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
    const typed = lines.map((line) => (language !== 'console' ? line : line.startsWith('$ ') ? line.slice(2) : ''));
    return { document, line: text.slice(0, match.index).split('\n').length + 1, text: typed.join('\n') };
  });
}

const WORD =
  /(?:[^\s'"\\;&|()<>$#]|#(?<=\S#)|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\$\((?:[^()]|\([^()]*\))*\)|\$)+/y;
const KEYWORDS = new Set(['while', 'do', 'done', 'if', 'then', 'fi', 'else', 'for', 'in', '{', '}', '!', 'exec']);

/** The simple commands of a block, those within `$(…)` too. */
export function commandsOf(block: FencedBlock): FencedCommand[] {
  const { document, text } = block;
  const found: FencedCommand[] = [];
  let words: string[] = [];
  let line = block.line;
  let isFed = false;
  const end = (): void => {
    while (words[0] !== undefined && (KEYWORDS.has(words[0]) || /^[A-Za-z_]\w*=/.test(words[0]))) words.shift();
    if (words.length > 0) found.push({ document, line, words, isFed });
    words = [];
    isFed = false;
  };
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at);
    const skipped = /^(?:[ \t]+|\\\n)/.exec(rest)?.[0];
    const redirect = /^\d*(?:<<-?\s*(?<here>['"]?\w+['"]?)|(?:>>?|<(?![(<]))&?\s*)/.exec(rest);
    const operator = /^(?:\n|;|&&?|\|\|?|[<>]?\(|\))/.exec(rest)?.[0];
    WORD.lastIndex = at;
    if (skipped !== undefined) at += skipped.length;
    else if (rest.startsWith('#')) at += /^[^\n]*/.exec(rest)?.[0].length ?? 1;
    else if (redirect?.groups?.['here'] !== undefined) {
      const mark = redirect.groups['here'].replaceAll(/['"]/g, '');
      const body = new RegExp(`\\n[\\s\\S]*?\\n\\s*${mark}(?=\\n|$)`).exec(rest)?.[0] ?? '';
      isFed = true;
      const restOfLine = /^[^\n]*/.exec(rest)?.[0].length ?? 0;
      at += restOfLine + body.length;
    } else if (redirect !== null) {
      isFed ||= rest.startsWith('<');
      at += redirect[0].length;
      WORD.lastIndex = at;
      at += WORD.exec(text)?.[0].length ?? 0;
    } else if (operator !== undefined) {
      end();
      isFed = operator === '|';
      at += operator.length;
    } else {
      const word = WORD.exec(text)?.[0];
      if (word === undefined) throw new Error(`${document}:${block.line}: cannot read ${rest.slice(0, 40)}`);
      if (words.length === 0) line = block.line + text.slice(0, at).split('\n').length - 1;
      for (const [, inner = ''] of word.matchAll(/\$\(((?:[^()]|\([^()]*\))*)\)/g)) {
        if (!word.startsWith("'")) found.push(...commandsOf({ document, line, text: inner }));
      }
      words.push(unquoted(word));
      at += word.length;
    }
  }
  end();
  return found;
}

/** A word without its quotes. */
function unquoted(word: string): string {
  return word.replaceAll(/'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g, (_, single, double, escaped) =>
    String(single ?? (double as string | undefined)?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped),
  );
}
