import { mergeValues } from '../intent/merge-values.ts';
import { AdminApiError } from './admin-client.ts';
import type { Hint } from './app-hints.ts';
import { CliError, EXIT } from './cli-error.ts';
import { readDocumentFile, type DocumentFile } from './document-file.ts';
import { assign, type Assignment } from './value-assignments.ts';

/** As the command line says values. */
export interface ValuesOptions {
  readonly values?: readonly string[];
  readonly set?: readonly Assignment[];
  readonly setString?: readonly Assignment[];
  readonly secretValues?: string;
  readonly resetValues?: boolean;
  readonly resetSecretValues?: boolean;
}

/** What an intent says of values, and where each of it was said. */
export interface GivenValues {
  readonly body: {
    readonly values?: Readonly<Record<string, unknown>>;
    readonly secretValues?: Readonly<Record<string, unknown>>;
  };
  /** `values.yaml:7` of a place such as `/values/replicas`; undefined where that was said nowhere. */
  readonly placeOf: (path: string) => string | undefined;
}

interface Source {
  readonly value: Readonly<Record<string, unknown>>;
  readonly placeOf: (pointer: string) => string;
}

/**
 * Files one over the other, then `--set`, then `--set-string`, as Helm takes them.
 *
 * @throws CliError that names file and line of what cannot be read
 */
export async function readValues(options: ValuesOptions): Promise<GivenValues> {
  const { values: files = [], set = [], setString = [], secretValues: secretFile } = options;
  refuseBoth(options);
  const documents: DocumentFile[] = [];
  for (const file of files) documents.push(await readDocumentFile(file));
  const secret = secretFile === undefined ? undefined : await readSecret(secretFile);
  const assignments = [...set, ...setString];
  const isGiven = documents.length > 0 || assignments.length > 0 || options.resetValues === true;
  let values: Readonly<Record<string, unknown>> = {};
  for (const { value } of documents) values = mergeValues(values, value);
  for (const assignment of assignments) values = assign(values, assignment);
  const secretValues = secret?.value ?? (options.resetSecretValues === true ? {} : undefined);
  const sources = [...documents.map(ofFile), ...assignments.map(ofAssignment)];
  return {
    body: { ...(isGiven ? { values } : {}), ...(secretValues === undefined ? {} : { secretValues }) },
    placeOf: (path) =>
      inPart(path, '/values', sources) ?? inPart(path, '/secretValues', secret === undefined ? [] : [ofFile(secret)]),
  };
}

/** A refusal by the API with every fault on a line of its own, those of values with the place where they were said. */
export function withPlaces(error: unknown, { placeOf }: Pick<GivenValues, 'placeOf'>, hint?: Hint): unknown {
  if (!(error instanceof CliError) || !(error.cause instanceof AdminApiError)) return error;
  const { faults, code } = error.cause;
  const next = hint?.(
    code === 'conflict' && faults.length === 0 ? ['/expectedGeneration'] : faults.map(({ path }) => path),
  );
  const said = faults.length === 0 ? error.message : faults.map((fault) => faultText(fault, placeOf)).join('\n');
  return new CliError(error.exitCode, said, next ?? error.next, { cause: error.cause });
}

export function faultText(
  { path, message }: { readonly path: string; readonly message: string },
  placeOf: GivenValues['placeOf'],
): string {
  const place = placeOf(path);
  // What was asked for is the command itself.
  return `${place === undefined ? '' : `${place}: `}${path === '' || path === '/action' ? '' : `${path} `}${message}`;
}

function refuseBoth({ values = [], secretValues, resetSecretValues }: ValuesOptions): void {
  const piped = [...values, secretValues].filter((file) => file === '-').length;
  if (piped > 1) throw new CliError(EXIT.usage, 'standard input can be read once: give the other one as a file');
  if (secretValues !== undefined && resetSecretValues === true) {
    throw new CliError(EXIT.usage, 'give --secret-values or --reset-secret-values, not both');
  }
}

/** What the parser says of a text quotes it: of secret values only the place is told. */
async function readSecret(file: string): Promise<DocumentFile> {
  try {
    return await readDocumentFile(file);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const places = error.message.split('\n').flatMap((line) => /^.*?:\d+:\d+(?=: )/.exec(line)?.[0] ?? []);
    if (places.length === 0) throw error;
    throw new CliError(EXIT.usage, places.map((place) => `${place}: is no YAML`).join('\n'));
  }
}

function ofFile({ file, value, lineOf }: DocumentFile): Source {
  return { value, placeOf: (pointer) => `${file}:${lineOf(pointer)}` };
}

function ofAssignment(assignment: Assignment): Source {
  return { value: assign({}, assignment), placeOf: () => assignment.said };
}

/** The place where most of it was said; of several the last, which counts. */
function inPart(path: string, part: string, sources: readonly Source[]): string | undefined {
  if (path !== part && !path.startsWith(`${part}/`)) return undefined;
  const pointer = path.slice(part.length);
  let found: Source | undefined;
  let deepest = -1;
  for (const source of sources) {
    const depth = depthIn(source.value, pointer);
    if (depth < deepest) continue;
    deepest = depth;
    found = source;
  }
  return found?.placeOf(pointer);
}

/** How many parts of the pointer are there. */
function depthIn(value: unknown, pointer: string): number {
  let at: unknown = value;
  let depth = 0;
  for (const raw of pointer.split('/').slice(1)) {
    const part = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) break;
    at = (at as Record<string, unknown>)[part];
    depth += 1;
  }
  return depth;
}
