/** Plain text as Markdown shows it; what stands in backquotes stays code. */
export function prose(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll('<', '&lt;').replaceAll('*', '\\*')))
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** A whole sentence of what may be a piece of one. */
export function sentence(text: string): string {
  if (text === '') return '';
  return /[.!?…)]$/.test(text) && !/[^.]\)$/.test(text) ? text : `${text}.`;
}

export function code(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

export function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}

/** Parts with an empty line between them; what is empty is left out. */
export function parts(...texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}
