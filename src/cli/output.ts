import { Option, type Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { paintOf, type Paint, type Tone } from './colours.ts';
import { jsonText, yamlText } from './escaped-document.ts';
import { printable } from './git-views.ts';
import { textTable } from './text-table.ts';

export const OUTPUT_FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Of a command with `addOutput`. */
export interface OutputOptions {
  readonly output: OutputFormat;
}

/** Of a table. An absent value is shown as `-`. */
export interface Column<T> {
  readonly header: string;
  readonly value: (item: T) => string | number | undefined;
  readonly tone?: (item: T) => Tone | undefined;
  /** Shown with `-o wide` alone. */
  readonly isWide?: boolean;
}

interface ShownList<T> {
  readonly items: readonly T[];
  /** Or the whole list in words, such as a log. */
  readonly columns: readonly Column<T>[] | ((items: readonly T[]) => string);
  readonly nameOf: (item: T) => string;
  /** Said on standard error where there is none, such as how to get one. */
  readonly empty?: string;
}

interface ShownItem<T> {
  readonly item: T;
  /** For people: `factsText`, a diff or whatever it is. It sees to unprintable characters itself. */
  readonly text: (item: T, how: { readonly isWide: boolean; readonly paint: Paint }) => string;
  readonly nameOf: (item: T) => string;
}

/** Adds `-o` to a command that prints a list or an object. */
export function addOutput(command: Command, standard: OutputFormat = 'table'): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'how it is printed').choices(OUTPUT_FORMATS).default(standard),
  );
}

/** The one way in which lists and objects are printed. JSON and YAML have all that the control plane answered. */
export function print<T>(
  deps: Pick<CliDeps, 'out' | 'err' | 'isColoured'>,
  { output }: OutputOptions,
  shown: ShownList<T> | ShownItem<T>,
): void {
  const isList = 'items' in shown;
  if (isDocument(output)) {
    deps.out(documentText(isList ? { items: shown.items } : shown.item, output));
    return;
  }
  if (output === 'name') {
    for (const item of isList ? shown.items : [shown.item]) deps.out(printable(`${shown.nameOf(item)}\n`));
    return;
  }
  const paint = paintOf(deps);
  const isWide = output === 'wide';
  if (!isList) {
    deps.out(shown.text(shown.item, { isWide, paint }));
    return;
  }
  const { items, columns } = shown;
  deps.out(typeof columns === 'function' ? columns(items) : tableText(items, columns, { isWide, paint }));
  if (shown.items.length === 0 && shown.empty !== undefined) deps.err(`${shown.empty}\n`);
}

/** One value as JSON or YAML, such as of a command that prints it when it is over. */
export function documentText(value: unknown, output: 'json' | 'yaml'): string {
  return output === 'json' ? `${jsonText(value, 2)}\n` : yamlText(value);
}

/** Whether standard output is for one document alone, so that what is said meanwhile goes to standard error. */
export function isDocument(output: OutputFormat): output is 'json' | 'yaml' {
  return output === 'json' || output === 'yaml';
}

/** A header line and a line for each item. */
export function tableText<T>(
  items: readonly T[],
  columns: readonly Column<T>[],
  { isWide = false, paint = (_, text) => text }: { readonly isWide?: boolean; readonly paint?: Paint } = {},
): string {
  const shown = columns.filter((column) => isWide || column.isWide !== true);
  const rows = items.map((item) => shown.map(({ value }) => cellOf(value(item))));
  return textTable([shown.map(({ header }) => header), ...rows], (text, row, column) => {
    if (row === 0) return paint('bold', text);
    const item = items[row - 1];
    return item === undefined ? text : paint(shown[column]?.tone?.(item), text);
  });
}

/** A label, its value, and what its colour says. */
export type Fact = readonly [label: string, value: string | number | undefined, tone?: Tone | undefined];

/** A line for each fact; one without a value is left out. */
export function factsText(facts: readonly Fact[], paint: Paint = (_, text) => text): string {
  const width = Math.max(0, ...facts.map(([label]) => label.length)) + 2;
  return facts
    .flatMap(([label, value, tone]) => {
      if (value === undefined) return [];
      return [`${label.padEnd(width)}${paint(tone, printable(String(value)))}\n`];
    })
    .join('');
}

/** A table below a fact list, with an empty line before it; nothing where there are no items. */
export function sectionText<T>(
  items: readonly T[],
  columns: readonly Column<T>[],
  how: { readonly isWide?: boolean; readonly paint?: Paint } = {},
): string {
  return items.length === 0 ? '' : `\n${tableText(items, columns, how)}`;
}

/** On one line, whatever the control plane was told. */
function cellOf(value: string | number | undefined): string {
  return value === undefined || value === '' ? '-' : printable(String(value)).replaceAll(/[\t\n]/g, ' ');
}
