import { randomBytes } from 'node:crypto';
import { Option, type Command } from 'commander';
import { systemClock } from '../runtime/clock.ts';
import { AdminApiError } from './admin-client.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { readDocumentFile, type DocumentFile } from './document-file.ts';
import { followOperation } from './follow-operation.ts';
import { printable } from './git-views.ts';
import { neededText } from './needed-text.ts';
import { addOperationListCommands } from './operation-list-commands.ts';
import { collectParameter, durationIn, targetIn, typedParameters } from './operation-parameters.ts';
import { ENDED, type ShownOperation } from './operation-text.ts';
import { addOutput, documentText, isDocument, type OutputOptions } from './output.ts';
import { startProgress } from './progress.ts';
import type { ShownTemplate } from './template-commands.ts';

/** Longest name of an operation. */
const MAX_NAME = 53;
const DEFAULT_WAIT_SECONDS = 3600;

interface WaitOptions extends ConnectionOptions {
  readonly wait?: boolean;
  readonly timeout: number;
}

interface RunOptions extends WaitOptions, OutputOptions {
  readonly namespace: string;
  readonly name?: string;
  readonly param?: readonly (readonly [string, string])[];
  readonly paramsFile?: string;
  readonly deadline?: number;
  readonly ttl?: number;
  readonly target?: ReturnType<typeof targetIn>;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

interface DryRun {
  readonly violations: readonly { readonly path: string; readonly message: string; readonly at: string }[];
  readonly approval?: {
    readonly required: { readonly count: number; readonly roles?: Readonly<Record<string, number>> };
  };
  readonly manifest?: string;
}

interface Cancelled {
  readonly id: string;
  readonly state: string;
  readonly reason?: string;
  readonly cancellation?: { readonly id: string; readonly state: string };
}

/** `servicectl operations run|list|show|cancel` */
export function addOperationCommands(program: Command, deps: CliDeps): Command {
  const operations = program.command('operations').description('day-two work on clusters: run, follow and cancel it');

  addOutput(withWait(withConnection(operations.command('run'))))
    .argument('<cluster>', 'slug or id')
    .argument('<template>', 'operation template; see servicectl templates list')
    .description('asks a cluster to run an operation; see docs/operation-templates.md')
    .requiredOption('-n, --namespace <namespace>', 'namespace that it runs in')
    .option('--name <name>', 'of the operation (default: the template and something random)')
    .addOption(
      new Option(
        '-p, --param <name=value>',
        'one parameter, read as the type that the template says; again for more',
      ).argParser(collectParameter),
    )
    .option('--params-file <file>', 'parameters as YAML or JSON, those of --param over them; - reads standard input')
    .addOption(new Option('--deadline <time>', 'fails when it takes longer, such as 30m').argParser(durationIn))
    .addOption(new Option('--ttl <time>', 'is cleared away so long after its end, such as 24h').argParser(durationIn))
    .addOption(new Option('--target <kind/name>', 'what it works on, such as Deployment/web').argParser(targetIn))
    .option('--reason <text>', 'why, for the audit log')
    .option('--dry-run', 'says everything that it would be refused for, and does nothing')
    .action(async (cluster: string, template: string, options: RunOptions) => {
      await run(cluster, template, options, deps);
    });

  addOperationListCommands(operations, deps);

  withWait(withConnection(operations.command('cancel')))
    .argument('<operation>', 'id of its intent; see servicectl operations list')
    .description('cancels an operation: it does not begin, or is stopped where its template can be')
    .option('--reason <text>', 'why, for the audit log')
    .action(async (id: string, { reason, ...options }: WaitOptions & { readonly reason?: string }) => {
      const path = `/intents/${encodeURIComponent(id)}/cancel`;
      const body = reason === undefined ? {} : { reason };
      const answer = await callControlPlane<Cancelled>(options, deps, 'POST', path, body);
      const { cancellation } = answer;
      if (cancellation === undefined) deps.out(printable(`${answer.id}: ${answer.reason ?? answer.state}\n`));
      else deps.out(printable(`${answer.id}: ${cancellation.id} cancels it (${cancellation.state})\n`));
      if (cancellation === undefined) return;
      if (options.wait !== true) {
        deps.out(printable(`To follow it: servicectl operations show ${answer.id}\n`));
        return;
      }
      const ended = await follow(answer.id, options, deps);
      if (ended.phase !== 'Cancelled') throw notAsMeant(ended, options.timeout);
    });
  return operations;
}

async function run(cluster: string, template: string, options: RunOptions, deps: CliDeps): Promise<void> {
  const { namespace, reason, deadline, ttl, target, dryRun, param = [] } = options;
  const file = options.paramsFile === undefined ? undefined : await readDocumentFile(options.paramsFile);
  const typed = param.length === 0 ? {} : await typedBy(template, { param, before: file?.value }, options, deps);
  const parameters = { ...file?.value, ...typed };
  const body = {
    action: 'operate',
    namespace,
    name: options.name ?? newName(template, deps.randomBytes ?? randomBytes),
    operationTemplate: template,
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    ...(target === undefined ? {} : { targetRef: target }),
    ...(deadline === undefined ? {} : { deadlineSeconds: deadline }),
    ...(ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl }),
    ...(reason === undefined ? {} : { reason }),
    ...(dryRun === true ? { dryRun } : {}),
  };
  const path = `/clusters/${encodeURIComponent(cluster)}/intents`;
  try {
    if (dryRun === true) {
      tellDryRun(await callControlPlane<DryRun>(options, deps, 'POST', path, body), options, deps);
      return;
    }
    const { id } = await callControlPlane<{ readonly id: string }>(options, deps, 'POST', path, body);
    const { output } = options;
    // Of a document there is one, at the end.
    const say = isDocument(output) || output === 'name' ? deps.err : deps.out;
    say(`${id}: ${namespace}/${body.name} is asked for\n`);
    if (output === 'name') deps.out(printable(`${id}\n`));
    if (options.wait !== true) {
      if (isDocument(output)) deps.out(documentText(await callControlPlane(options, deps, 'GET', at(id)), output));
      else say(`To follow it: servicectl operations show ${id}\n`);
      return;
    }
    const ended = await follow(id, options, deps);
    if (isDocument(output)) deps.out(documentText(ended, output));
    else say(`${id}: ${ended.phase}\n`);
    if (ended.phase !== 'Succeeded') throw notAsMeant(ended, options.timeout);
  } catch (error) {
    throw inPlaces(error, file, template);
  }
}

async function typedBy(
  template: string,
  given: {
    readonly param: readonly (readonly [string, string])[];
    readonly before: Readonly<Record<string, unknown>> | undefined;
  },
  options: ConnectionOptions,
  deps: CliDeps,
): Promise<Record<string, unknown>> {
  const path = `/operation-templates/${encodeURIComponent(template)}`;
  const { parameters } = await callControlPlane<ShownTemplate>(options, deps, 'GET', path);
  return typedParameters(given.param, { schema: parameters, template, before: given.before });
}

function tellDryRun(answer: DryRun, { output }: RunOptions, deps: CliDeps): void {
  const { violations, approval, manifest } = answer;
  if (isDocument(output)) deps.out(documentText(answer, output));
  else {
    for (const { path, message } of violations) deps.out(printable(`${path}: ${message}\n`));
    if (violations.length === 0) deps.out(manifest ?? '');
    if (approval !== undefined) deps.err(printable(`It would wait for approvals: ${neededText(approval.required)}\n`));
  }
  if (violations.length === 0) return;
  throw new CliError(EXIT.failed, `it would be refused for ${violations.length} of these`);
}

/** Every fault on a line of its own; those of a parameters file with its lines. */
function inPlaces(error: unknown, file: DocumentFile | undefined, template: string): unknown {
  if (!(error instanceof CliError) || !(error.cause instanceof AdminApiError)) return error;
  const { faults } = error.cause;
  if (faults.length === 0) return error;
  const said = faults.map(({ path, message }) => {
    const isOfFile = file !== undefined && (path === '/parameters' || path.startsWith('/parameters/'));
    const where = isOfFile ? `${file.file}:${file.lineOf(path.slice('/parameters'.length))}: ` : '';
    return `${where}${path} ${message}`;
  });
  const isOfTemplate = faults.some(({ path }) => path.startsWith('/parameters'));
  const next = isOfTemplate ? `See what it takes: servicectl templates show ${template}` : error.next;
  return new CliError(error.exitCode, said.join('\n'), next, { cause: error.cause });
}

function notAsMeant(operation: ShownOperation, waited: number): CliError {
  const { id, phase, conditions, intents } = operation;
  const condition = conditions.find(({ type, status }) => type === phase && status === 'True');
  const why = condition?.message ?? intents[0]?.reason;
  const next = `To see all of it: servicectl operations show ${id}`;
  const isOver = ENDED.includes(phase);
  const words = isOver ? `${id} ended as ${phase}` : `${id} is still ${phase} after ${waited} s, and goes on`;
  return new CliError(EXIT.failed, printable(`${words}${why === undefined ? '' : `: ${why}`}`), next);
}

async function follow(id: string, options: WaitOptions, deps: CliDeps): Promise<ShownOperation> {
  const progress = startProgress(deps, `${id} goes on. To see where it is: servicectl operations show ${id}`);
  try {
    return await followOperation({
      read: async () => await callControlPlane<ShownOperation>(options, deps, 'GET', at(id)),
      say: progress.say,
      clock: deps.clock ?? systemClock,
      timeoutMs: options.timeout * 1000,
    });
  } finally {
    progress.end();
  }
}

function newName(template: string, random: (n: number) => Uint8Array): string {
  const end = Buffer.from(random(4)).toString('hex');
  return `${template.slice(0, MAX_NAME - end.length - 1).replace(/-+$/, '')}-${end}`;
}

function withWait(command: Command): Command {
  return command
    .option('--wait', 'follows it to its end: exits with 1 when that is not what was asked for')
    .addOption(
      new Option('--timeout <time>', 'with --wait: how long; the operation itself goes on')
        .argParser(durationIn)
        .default(DEFAULT_WAIT_SECONDS, '1h'),
    );
}

function at(id: string): string {
  return `/operations/${encodeURIComponent(id)}`;
}
