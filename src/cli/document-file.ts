import { LineCounter, parseAllDocuments, parseDocument, type Document } from 'yaml';
import { AdminApiError } from './admin-client.ts';
import { CliError, EXIT } from './cli-error.ts';
import { readInput } from './read-input.ts';

/** A document that somebody wrote, YAML or JSON (which YAML holds), and where each part of it stands. */
export interface DocumentFile {
  readonly file: string;
  /** An object. */
  readonly value: Readonly<Record<string, unknown>>;
  /** The line of what an RFC 6901 pointer names, or of the nearest part around it that is there. */
  readonly lineOf: (pointer: string) => number;
}

/** `-` reads standard input. @throws CliError with each fault's line where it is no document, or no object */
export async function readDocumentFile(file: string): Promise<DocumentFile> {
  const name = file === '-' ? 'standard input' : file;
  const text = await readInput(file, file);
  const lines = new LineCounter();
  return documentOf(parseDocument(text, { lineCounter: lines, prettyErrors: false }), lines, name);
}

/** The same of a file with several documents, separated by `---`. */
export async function readDocumentFiles(file: string): Promise<readonly DocumentFile[]> {
  const name = file === '-' ? 'standard input' : file;
  const text = await readInput(file, file);
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  if ('empty' in documents) throw new CliError(EXIT.usage, `${name} holds no document`);
  // What is before the first separator, or behind the last one, may be comments alone.
  const filled = documents.filter((document) => document.errors.length > 0 || document.contents !== null);
  if (filled.length === 0) throw new CliError(EXIT.usage, `${name} holds no document`);
  return filled.map((document) => documentOf(document, lines, name));
}

function documentOf(document: Document, lines: LineCounter, name: string): DocumentFile {
  if (document.errors.length > 0) {
    const faults = document.errors.map(({ pos, message }) => {
      const { line, col } = lines.linePos(pos[0]);
      return `${name}:${line}:${col}: ${message}`;
    });
    throw new CliError(EXIT.usage, faults.join('\n'));
  }
  const value = valueOf(document, name);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CliError(EXIT.usage, `${name}:1: must be an object, that is keys and values`);
  }
  return {
    file: name,
    value: value as Readonly<Record<string, unknown>>,
    lineOf: (pointer) => lineOf(document, lines, partsOf(pointer)),
  };
}

/** A refusal of what a file holds, each fault with its line in place of the request's own words. */
export function refusedAt(error: unknown, { file, lineOf: line }: DocumentFile): unknown {
  if (!(error instanceof CliError) || !(error.cause instanceof AdminApiError)) return error;
  const { faults } = error.cause;
  if (faults.length === 0) return error;
  const said = faults.map(({ path, message }) => `${file}:${line(path)}: ${path === '' ? '' : `${path} `}${message}`);
  return new CliError(error.exitCode, said.join('\n'), error.next, { cause: error.cause });
}

function valueOf(document: Document, name: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new CliError(EXIT.usage, `${name}: ${error instanceof Error ? error.message : 'cannot be read'}`);
  }
}

function partsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function lineOf(document: Document, lines: LineCounter, parts: readonly string[]): number {
  for (let depth = parts.length; depth > 0; depth -= 1) {
    const node: unknown = document.getIn(parts.slice(0, depth), true);
    if (typeof node !== 'object' || node === null || !('range' in node)) continue;
    const range = node.range as readonly number[] | null | undefined;
    if (range?.[0] !== undefined) return lines.linePos(range[0]).line;
  }
  return 1;
}
