import { Type } from 'typebox';
import { isAlias, isCollection, isNode, isScalar, LineCounter, parseAllDocuments, visit, type Document } from 'yaml';
import { AppError } from '../protocol/app-error.ts';
import { NamespaceName, ObjectName } from '../protocol/names.ts';
import { compileParser } from '../protocol/parse.ts';
import { parseStrictJson } from '../protocol/strict-json.ts';
import {
  APPLICATION_INSTANCE_KIND,
  ApplicationInstanceSpec,
  type ApplicationInstance,
} from '../resources/application-instance.ts';
import { APPS_API_VERSION, OPS_API_VERSION } from '../resources/labels.ts';
import { OPERATION_KIND, OperationSpec, type Operation } from '../resources/operation.ts';
import { Reason } from '../resources/reasons.ts';
import { plainJson } from './plain-json.ts';
import { MAX_MANIFEST_BYTES, Tombstone } from './rendered.ts';

/** Aliases that one manifest may follow: enough for a person's own anchors, too few for a bomb. */
const MAX_ALIASES = 50;

const COLLECTION_NAME = 'a member has a mapping or list for a name';
const TWICE = 'a member is there twice';
const TOO_MANY_ALIASES = `aliases are followed at most ${MAX_ALIASES} times`;

/** Why a file is not taken: a reason for the condition, and a message that names the file and the place in it. */
export interface ManifestFault {
  readonly ok: false;
  readonly reason: typeof Reason.ManifestInvalid | typeof Reason.ManifestRefused;
  readonly message: string;
}

export type ParsedManifest = { readonly ok: true; readonly object: ApplicationInstance | Operation } | ManifestFault;
export type ParsedTombstone = { readonly ok: true; readonly tombstone: Tombstone } | ManifestFault;

const Metadata = Type.Object(
  {
    name: ObjectName,
    namespace: NamespaceName,
    labels: Type.Optional(Type.Record(Type.String(), Type.String())),
    annotations: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { additionalProperties: false },
);

const strict = { additionalProperties: false } as const;

/** The kinds that a manifest may be, each with its whole shape: status and server-made metadata have no place in Git. */
const KINDS: Readonly<Record<string, (value: unknown) => ApplicationInstance | Operation>> = {
  [`${APPS_API_VERSION}/${APPLICATION_INSTANCE_KIND}`]: compileParser(
    Type.Object(
      {
        apiVersion: Type.Literal(APPS_API_VERSION),
        kind: Type.Literal(APPLICATION_INSTANCE_KIND),
        metadata: Metadata,
        spec: ApplicationInstanceSpec,
      },
      strict,
    ),
  ),
  [`${OPS_API_VERSION}/${OPERATION_KIND}`]: compileParser(
    Type.Object(
      {
        apiVersion: Type.Literal(OPS_API_VERSION),
        kind: Type.Literal(OPERATION_KIND),
        metadata: Metadata,
        spec: OperationSpec,
      },
      strict,
    ),
  ),
};

const TOMBSTONE_KINDS: readonly string[] = Object.keys(KINDS);

const parseTombstoneValue = compileParser(
  Type.Object({ ...Tombstone.properties, namespace: NamespaceName, name: ObjectName }),
);

/**
 * Reads one manifest file of a cluster's directory. Never throws: a person may have written anything.
 *
 * @param key names the file in messages, as `apps/shop/podinfo.yaml`
 */
export function parseManifest(text: string, key: string): ParsedManifest {
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes > MAX_MANIFEST_BYTES) {
    return invalid(key, `the file is ${bytes} bytes; at most ${MAX_MANIFEST_BYTES} bytes (512 KiB) are taken`);
  }
  try {
    return checkManifest(readYaml(text), key);
  } catch (error) {
    return invalid(key, explain(error));
  }
}

/** The same for a manifest that is read already, as the payload of a job. Never throws. */
export function checkManifest(value: unknown, key: string): ParsedManifest {
  try {
    const kind = kindOf(value);
    const parse = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
    return parse === undefined ? refusedKind(key, kind) : { ok: true, object: parse(value) };
  } catch (error) {
    return invalid(key, explain(error));
  }
}

/** Reads one tombstone file. Never throws. */
export function parseTombstone(text: string, key: string): ParsedTombstone {
  try {
    const value = parseStrictJson(Buffer.from(text, 'utf8'));
    const tombstone = parseTombstoneValue(value);
    const kind = `${tombstone.apiVersion}/${tombstone.kind}`;
    return TOMBSTONE_KINDS.includes(kind) ? { ok: true, tombstone } : refusedKind(key, kind);
  } catch (error) {
    return invalid(key, explain(error));
  }
}

/** A fault of the YAML text itself; its message is ours or the parser's first line. */
class YamlFault extends Error {}

function readYaml(text: string): unknown {
  const lineCounter = new LineCounter();
  // The parser compares each member's name with all before it, which takes the square of their number: see `memberFault`.
  const options = { lineCounter, prettyErrors: false, intAsBigInt: true, version: '1.2', uniqueKeys: false } as const;
  const documents = parseAllDocuments(text, options);
  if (!Array.isArray(documents) || documents.length === 0) throw new YamlFault('the file is empty');
  const [document, second] = documents;
  if (second !== undefined) {
    const { line } = lineCounter.linePos(second.range[0]);
    throw new YamlFault(`the file holds a second document near line ${line}; one manifest a file`);
  }
  const fault = document === undefined ? undefined : firstFault(document);
  if (fault !== undefined) {
    const { line, col } = lineCounter.linePos(fault.at);
    throw new YamlFault(`${fault.message} (line ${line}, column ${col})`);
  }
  return plainJson(document?.toJS({ maxAliasCount: MAX_ALIASES }));
}

/** A warning counts too: it is an unknown tag or directive, so the value would not be what was written. */
function firstFault(document: Document.Parsed): { readonly message: string; readonly at: number } | undefined {
  const [problem] = [...document.errors, ...document.warnings];
  return problem === undefined ? memberFault(document) : { message: problem.message, at: problem.pos[0] };
}

/**
 * YAML lets a mapping stand where a member's name does; JSON has no such thing, and the parser would make up a name. And it
 * forbids the same name twice in one mapping, of which the parser would take the last.
 */
function memberFault(document: Document.Parsed): { readonly message: string; readonly at: number } | undefined {
  let fault: { readonly message: string; readonly at: number } | undefined;
  // Each takes a walk through the document.
  let aliases = 0;
  visit(document, {
    Map: (_key, { items }) => {
      const names = new Set<string>();
      for (const { key } of items) {
        const at = isNode(key) ? (key.range?.[0] ?? 0) : 0;
        if (isAlias(key)) aliases += 1;
        if (aliases > MAX_ALIASES) fault ??= { message: TOO_MANY_ALIASES, at };
        if (fault !== undefined) return visit.BREAK;
        const name = nameOf(key, document);
        if (name !== undefined && !names.has(name)) names.add(name);
        else fault = { message: name === undefined ? COLLECTION_NAME : `${TWICE}: ${JSON.stringify(name)}`, at };
      }
      return fault === undefined ? undefined : visit.BREAK;
    },
  });
  return fault;
}

/** As `toJS` makes it of a scalar, or of what an alias stands for; undefined for a collection. */
function nameOf(key: unknown, document: Document.Parsed): string | undefined {
  const node = isAlias(key) ? key.resolve(document) : key;
  if (isCollection(node)) return undefined;
  const value = isScalar(node) ? node.value : node;
  // Null is an empty name. Anything else, such as a date, no manifest holds.
  if (typeof value === 'string') return value;
  return typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

function kindOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new YamlFault('a manifest is expected: a mapping with apiVersion, kind, metadata and spec');
  }
  const { apiVersion, kind } = value as Readonly<Record<string, unknown>>;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    throw new YamlFault('/apiVersion and /kind are required, each a string');
  }
  return `${apiVersion}/${kind}`;
}

function refusedKind(key: string, kind: string): ManifestFault {
  const message = `${key}: ${kind.slice(0, 200)} is not taken; allowed: ${TOMBSTONE_KINDS.join(', ')}`;
  return { ok: false, reason: Reason.ManifestRefused, message };
}

function invalid(key: string, problem: string): ManifestFault {
  return { ok: false, reason: Reason.ManifestInvalid, message: `${key}: ${problem}` };
}

function explain(error: unknown): string {
  if (error instanceof AppError || error instanceof YamlFault) return error.message;
  // Deep nesting ends the parser's own recursion.
  if (error instanceof RangeError) return 'the file is nested too deeply';
  if (error instanceof ReferenceError && error.message.startsWith('Excessive alias count')) {
    return TOO_MANY_ALIASES;
  }
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'the file cannot be read';
}
