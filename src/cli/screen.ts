import type { CliDeps } from './cli-deps.ts';

// oxlint-disable-next-line no-control-regex -- the colours that this program prints itself
const COLOUR = /(\u001b\[\d*m)/;
const FALLBACK = { columns: 80, rows: 24 } as const;

/** What is written over in a terminal, as often as it changes. */
export class Screen {
  readonly #deps: Pick<CliDeps, 'out' | 'terminalSize'>;
  #shown: string | undefined;
  #lines = 0;

  constructor(deps: Pick<CliDeps, 'out' | 'terminalSize'>) {
    this.#deps = deps;
  }

  /** In place of what was shown before. What does not fit is cut: a line that wraps could not be written over. */
  show(text: string): void {
    const { columns, rows } = this.#deps.terminalSize?.() ?? FALLBACK;
    const all = text.replace(/\n$/, '').split('\n');
    // The line below the last is where the cursor stands.
    const room = Math.max(1, rows - 1);
    const kept = all.length <= room ? all : [...all.slice(0, room - 1), `… ${all.length - room + 1} more lines`];
    const lines = kept.map((line) => cut(line, columns));
    const next = `${lines.join('\n')}\n`;
    if (next === this.#shown) return;
    const back = this.#lines === 0 ? '' : `\u001b[${this.#lines}A\u001b[J`;
    this.#deps.out(`${back}${next}`);
    this.#shown = next;
    this.#lines = lines.length;
  }
}

/** At most so wide, whatever colours are in it. */
function cut(line: string, columns: number): string {
  let room = columns;
  let hasColour = false;
  let text = '';
  for (const part of line.split(COLOUR)) {
    if (COLOUR.test(part)) {
      hasColour = true;
      text += part;
      continue;
    }
    const characters = Array.from(part);
    text +=
      characters.length <= room ? part : `${characters.slice(0, Math.max(0, room - 1)).join('')}${room > 0 ? '…' : ''}`;
    room -= Math.min(room, characters.length);
  }
  return hasColour && room === 0 ? `${text}\u001b[0m` : text;
}
