import type { Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { readDocumentFiles, refusedAt, type DocumentFile } from './document-file.ts';
import { durationText } from './duration-text.ts';
import { printable } from './git-views.ts';
import { neededText } from './needed-text.ts';
import { listAll } from './list-all.ts';
import type { Paint } from './colours.ts';
import { addOutput, documentText, factsText, print, type Column, type Fact, type OutputOptions } from './output.ts';
import { textTable } from './text-table.ts';

/** An operation template as the admin API shows it. */
export interface ShownTemplate {
  readonly name: string;
  readonly description?: string;
  readonly isBuiltIn: boolean;
  readonly parameters: ParameterSchema;
  readonly run?: unknown;
  readonly runs: string;
  readonly deadlineSeconds: number;
  readonly retries: number;
  readonly isRetryable: boolean;
  readonly isCancellable: boolean;
  readonly targets: readonly string[];
  readonly approval?: { readonly count: number; readonly roles?: Readonly<Record<string, number>> };
  readonly updatedAt?: string;
}

export interface ParameterSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, ParameterSchema>>;
  readonly items?: ParameterSchema;
  readonly required?: readonly string[];
}

type Output = ConnectionOptions & OutputOptions;

/** `servicectl templates list|show|put|delete` */
export function addTemplateCommands(program: Command, deps: CliDeps): void {
  const templates = program
    .command('templates')
    .description('operation templates: those that are built in, and those of your organization');

  addOutput(withConnection(templates.command('list')))
    .description('prints name, what it runs, deadline and approvals of each operation template')
    .action(async (options: Output) => {
      const items = await listAll<ShownTemplate>(options, deps, '/operation-templates');
      print(deps, options, { items, columns: COLUMNS, nameOf: ({ name }) => name });
    });

  addOutput(withConnection(templates.command('show')))
    .argument('<template>', 'its name')
    .description('prints one template with its parameters; what -o yaml prints of your own can be edited and put')
    .action(async (name: string, options: Output) => {
      const template = await callControlPlane<ShownTemplate>(options, deps, 'GET', at(name));
      if (options.output === 'yaml') deps.out(documentText(documentOf(template), 'yaml'));
      else print(deps, options, { item: template, text: templateText, nameOf: () => name });
    });

  withConnection(templates.command('put'))
    .requiredOption('-f, --file <file>', 'YAML or JSON, one template a document; - reads standard input')
    .description('makes or replaces operation templates; see docs/operation-templates.md')
    .action(async (options: ConnectionOptions & { readonly file: string }) => {
      for (const one of named(await readDocumentFiles(options.file))) await put(one, options, deps);
    });

  withConfirmation(withConnection(templates.command('delete')))
    .argument('<template>', 'its name')
    .description('deletes a template that no cluster lists; of a built-in one, what was set of it')
    .action(async (name: string, options: ConnectionOptions & Confirmation) => {
      await confirm(deps, options, `deletes the operation template ${name}`);
      await callControlPlane(options, deps, 'DELETE', at(name));
      deps.out(`${name}: deleted\n`);
    });
}

interface NamedDocument {
  readonly name: string;
  readonly document: DocumentFile;
}

/** Before anything is sent: of a file of several, nothing is put where one has no name. @throws CliError */
function named(documents: readonly DocumentFile[]): readonly NamedDocument[] {
  const faults: string[] = [];
  const seen: NamedDocument[] = [];
  for (const document of documents) {
    const { file, value, lineOf } = document;
    const { name } = value;
    const where = `${file}:${lineOf('/name')}: /name`;
    if (typeof name !== 'string' || name === '') faults.push(`${where} is required: what the template is called`);
    else if (seen.some((other) => other.name === name)) faults.push(`${where} ${name} is in this file twice`);
    else seen.push({ name, document });
  }
  if (faults.length > 0) throw new CliError(EXIT.usage, faults.join('\n'));
  return seen;
}

async function put({ name, document }: NamedDocument, options: ConnectionOptions, deps: CliDeps): Promise<void> {
  const { name: _name, ...body } = document.value;
  try {
    const { isBuiltIn, runs } = await callControlPlane<ShownTemplate>(options, deps, 'PUT', at(name), body);
    deps.out(`${name}: ${isBuiltIn ? 'set' : `put, runs ${runs}`}\n`);
  } catch (error) {
    throw refusedAt(error, document);
  }
}

/** As it is put: nothing that the control plane adds. */
function documentOf(template: ShownTemplate): Record<string, unknown> {
  const { name, description, isBuiltIn, parameters, run, deadlineSeconds, retries, approval } = template;
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...(isBuiltIn ? {} : { parameters, run }),
    deadlineSeconds,
    ...(retries === 0 ? {} : { retries }),
    ...(approval === undefined ? {} : { approval }),
  };
}

const COLUMNS: readonly Column<ShownTemplate>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'RUNS', value: ({ isBuiltIn, runs }) => (isBuiltIn ? 'built in' : runs) },
  { header: 'DEADLINE', value: ({ deadlineSeconds }) => durationText(deadlineSeconds) },
  { header: 'RETRIES', value: ({ retries }) => retries },
  { header: 'APPROVALS', value: ({ approval }) => (approval === undefined ? '-' : neededText(approval)) },
  { header: 'CANCEL', value: ({ isCancellable }) => (isCancellable ? 'yes' : 'no'), isWide: true },
  { header: 'TARGETS', value: ({ targets }) => targets.join(','), isWide: true },
  { header: 'DESCRIPTION', value: ({ description = '' }) => description },
];

function templateText(template: ShownTemplate, { paint }: { readonly paint: Paint }): string {
  const { isBuiltIn, runs, deadlineSeconds, retries, approval, targets, isCancellable, parameters } = template;
  const facts: readonly Fact[] = [
    ['name', template.name],
    ['description', template.description],
    ['runs', isBuiltIn ? 'built in' : runs],
    ['deadline', durationText(deadlineSeconds)],
    ['retries', String(retries)],
    ['cancel', isCancellable ? 'stops it' : 'only before it runs'],
    ['targets', targets.length === 0 ? undefined : targets.join(', ')],
    ['approvals', approval === undefined ? 'none' : neededText(approval)],
    ['updated', template.updatedAt],
  ];
  const rows = Object.entries(parameters.properties ?? {}).map(([name, schema]) => [
    `  ${name}`,
    typeOf(schema),
    parameters.required?.includes(name) === true ? 'required' : '',
    schema.description ?? '',
  ]);
  return `${factsText(facts, paint)}parameters\n${rows.length === 0 ? '  none\n' : printable(textTable(rows))}`;
}

function typeOf({ type = 'any', enum: values, default: fallback }: ParameterSchema): string {
  const what = values === undefined ? type : values.map(String).join('|');
  return fallback === undefined ? what : `${what} (default ${JSON.stringify(fallback)})`;
}

function at(name: string): string {
  return `/operation-templates/${encodeURIComponent(name)}`;
}
