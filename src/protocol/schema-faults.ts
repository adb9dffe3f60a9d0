import { Settings } from 'typebox/system';
import type { Fault } from './app-error.ts';
import { listedValues } from './listed-values.ts';

// Process-wide in TypeBox, and 8 by default. An unknown field takes two of its errors, a union one per branch.
Settings.Set({ maxErrors: 128 });

/** The part of a JSON schema that messages are made from. */
export interface SchemaNode {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: unknown;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
}

/** What TypeBox says of one violation. */
export interface SchemaError {
  readonly keyword: string;
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/**
 * Turns TypeBox's errors into faults that a person can act on: one per place and cause, with what is allowed there.
 * An unknown field comes as two errors and a union as one per branch; each becomes one fault. Of something or null, what is
 * wrong with the something is said; of forms that differ by a constant (`kind`), what is wrong with the one that was meant.
 */
export function faultsOf(errors: readonly SchemaError[], schema: SchemaNode): Fault[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf');
  const told = new Map(
    unions.map((union) => [union, orNullBranch(union, schema) ?? meantBranch(union, errors, schema)]),
  );
  const isPassedOver = ({ schemaPath, instancePath }: SchemaError): boolean =>
    unions.some((union) => {
      if (!instancePath.startsWith(union.instancePath) || !schemaPath.startsWith(`${union.schemaPath}/anyOf/`))
        return false;
      const branch = told.get(union);
      return branch === undefined || !`${schemaPath}/`.startsWith(`${branch}/`);
    });
  const faults = new Map<string, Fault>();
  for (const error of errors) {
    if (told.get(error) !== undefined || isPassedOver(error)) continue;
    for (const fault of describe(error, schema)) {
      const key = `${fault.path}\n${fault.message}`;
      if (!faults.has(key)) faults.set(key, fault);
    }
  }
  return [...faults.values()];
}

function describe(error: SchemaError, root: SchemaNode): Fault[] {
  const path = error.instancePath;
  const params = error.params as Readonly<Record<string, unknown>>;
  switch (error.keyword) {
    case 'required': {
      const node = nodeAt(root, error.schemaPath);
      return (params['requiredProperties'] as readonly string[]).map((name) =>
        withAllowed({ path: `${path}/${escape(name)}`, message: 'is required' }, allowedBy(node?.properties?.[name])),
      );
    }
    case 'boolean':
      return [unknownField(path, nodeAt(root, error.schemaPath.replace(/\/additionalProperties$/, '')))];
    case 'additionalProperties': {
      const node = nodeAt(root, error.schemaPath);
      // Each name has its own error too, which says more where other names are allowed in some form.
      if (node?.additionalProperties !== false) return [];
      return (params['additionalProperties'] as readonly string[]).map((name) =>
        unknownField(`${path}/${escape(name)}`, node),
      );
    }
    case 'enum': {
      const { text, values } = listedValues(params['allowedValues'] as readonly unknown[]);
      return [{ path, message: `must be one of ${text}`, allowed: values }];
    }
    case 'const': {
      const { text, values } = listedValues([params['allowedValue']]);
      return [{ path, message: `must be ${text}`, allowed: values }];
    }
    case 'type':
      return [{ path, message: `must be ${withArticle(String(params['type']))}`, allowed: params['type'] }];
    case 'pattern': {
      const { pattern } = params;
      return [{ path, message: patternMessage(String(pattern), nodeAt(root, error.schemaPath)), allowed: { pattern } }];
    }
    case 'anyOf': {
      const branches = (nodeAt(root, error.schemaPath)?.anyOf ?? []).map(allowedBy);
      return [{ path, message: 'has none of the allowed forms', allowed: branches }];
    }
    case 'minimum':
    case 'maximum': {
      const { minimum, maximum } = nodeAt(root, error.schemaPath) ?? {};
      if (minimum === undefined || maximum === undefined) {
        return [withAllowed({ path, message: error.message }, limitOf(error.keyword, params))];
      }
      return [{ path, message: `must be from ${minimum} to ${maximum}`, allowed: { minimum, maximum } }];
    }
    case 'propertyNames':
      // Each bad name has its own error at its own path.
      return [];
    default:
      return [withAllowed({ path, message: error.message }, limitOf(error.keyword, params))];
  }
}

/** Schema path of the one branch of a union that is not null; undefined where there are several. */
function orNullBranch({ schemaPath }: SchemaError, root: SchemaNode): string | undefined {
  const branches = nodeAt(root, schemaPath)?.anyOf ?? [];
  const index = branches.findIndex(({ type }) => type !== 'null');
  const isOrNull = branches.length === 2 && branches.some(({ type }) => type === 'null');
  return isOrNull && index !== -1 ? `${schemaPath}/anyOf/${index}` : undefined;
}

/** Schema path of the one branch whose constants are all as given; undefined where there are none, or several such branches. */
function meantBranch(union: SchemaError, errors: readonly SchemaError[], root: SchemaNode): string | undefined {
  const branches = nodeAt(root, union.schemaPath)?.anyOf ?? [];
  const fitting = branches.flatMap(({ properties = {} }, index) => {
    const names = Object.keys(properties).filter((name) => properties[name]?.const !== undefined);
    const path = `${union.schemaPath}/anyOf/${index}`;
    const isOther = errors.some(
      ({ schemaPath, instancePath, keyword, params }) =>
        `${schemaPath}/`.startsWith(`${path}/`) &&
        (keyword === 'required'
          ? instancePath === union.instancePath &&
            names.some((name) =>
              (params as { requiredProperties: readonly string[] }).requiredProperties.includes(name),
            )
          : names.some((name) => instancePath === `${union.instancePath}/${escape(name)}`)),
    );
    return names.length === 0 || isOther ? [] : [path];
  });
  return fitting.length === 1 ? fitting[0] : undefined;
}

/** A description that reads on from "must be" stands for the pattern; any other explains it. */
function patternMessage(pattern: string, node: SchemaNode | undefined): string {
  const hint = node?.description?.replace(/\.$/, '') ?? '';
  if (hint === '') return `must match ${pattern}`;
  return /^[a-z0-9]/.test(hint) ? `must be ${hint}` : `must match ${pattern} (${hint})`;
}

function unknownField(path: string, node: SchemaNode | undefined): Fault {
  const known = Object.keys(node?.properties ?? {});
  const patterns = Object.keys(node?.patternProperties ?? {});
  if (known.length === 0 && patterns.length > 0) {
    return { path, message: `has a name that must match ${patterns.join(' or ')}`, allowed: { pattern: patterns[0] } };
  }
  const { text, values } = listedValues(known);
  const message = known.length === 0 ? 'is not known here' : `is not known; the known fields are ${text}`;
  return { path, message, allowed: values };
}

function limitOf(keyword: string, params: Readonly<Record<string, unknown>>): unknown {
  const limit = params['limit'] ?? params[keyword];
  return limit === undefined ? undefined : { [keyword]: limit };
}

function allowedBy(node: SchemaNode | undefined): unknown {
  if (node === undefined) return undefined;
  const all = node.enum ?? (node.const === undefined ? [] : [node.const]);
  // A part of them would say that the others are not taken.
  return all.length > 0 && listedValues(all).values.length === all.length ? all : node.type;
}

function withAllowed(fault: Fault, allowed: unknown): Fault {
  return allowed === undefined ? fault : { ...fault, allowed };
}

function withArticle(type: string): string {
  return type === 'null' ? type : `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`;
}

function escape(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Follows a TypeBox schema path (`#/properties/o/items`). A name with a slash in it is not found, only less is said then. */
function nodeAt(root: SchemaNode, schemaPath: string): SchemaNode | undefined {
  let node: unknown = root;
  for (const segment of schemaPath.split('/').slice(1)) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, segment)) return undefined;
    node = (node as Record<string, unknown>)[segment];
  }
  return node as SchemaNode;
}
