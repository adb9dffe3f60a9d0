import { Errors } from 'typebox/schema';
import { fillSkeleton } from '../intent/template.ts';
import type { Fault } from '../protocol/app-error.ts';
import { listedValues } from '../protocol/listed-values.ts';
import type { OperationTemplateDefinition } from '../protocol/operation-template.ts';
import { faultsOf, type SchemaNode } from '../protocol/schema-faults.ts';
import type { BuiltInTemplate } from './built-in/built-in-template.ts';
import { BUILT_IN_TEMPLATES, isBuiltInTemplate } from './built-in-templates.ts';
import { defaultsIn, schemaFaults } from './schema-faults.ts';
import { markerTypeFault } from './marker-type-fault.ts';
import { markersIn, type Marker } from './skeleton-markers.ts';

/** Of `run.parameters`, in bytes of its JSON. */
const MAX_RUN_BYTES = 32 * 1024;

/**
 * Everything that is wrong with an operation template beyond its form, as faults with paths from its root. One without
 * faults runs with any parameters that its own schema takes, as far as that can be said before they are there.
 *
 * @param unread members that are left out of `definition` because their form is wrong already
 */
export function definitionFaults(definition: OperationTemplateDefinition, unread: readonly string[] = []): Fault[] {
  const { name, run } = definition;
  if (isBuiltInTemplate(name)) {
    const builtIn: BuiltInTemplate = BUILT_IN_TEMPLATES[name];
    const own = (['run', 'parameters'] as const).filter((field) => definition[field] !== undefined);
    const message = `does not go with ${name}, which is built in: of it description, deadlineSeconds, retries and approval are set; choose another name for a template of your own`;
    return [...own.map((field) => ({ path: `/${field}`, message })), ...retryFaults(definition, name, builtIn)];
  }
  const parameters = definition.parameters === undefined ? [] : schemaFaults(definition.parameters, '/parameters');
  const known = Object.keys(BUILT_IN_TEMPLATES);
  if (run === undefined) {
    if (unread.includes('run')) return parameters;
    const message = `is required: which built-in template does the work; those are ${known.join(', ')}`;
    return [...parameters, { path: '/run', message, allowed: known }];
  }
  if (!isBuiltInTemplate(run.template)) {
    const message = `must be a built-in template; those are ${known.join(', ')}`;
    return [...parameters, { path: '/run/template', message, allowed: known }];
  }
  const builtIn: BuiltInTemplate = BUILT_IN_TEMPLATES[run.template];
  return [
    ...parameters,
    ...runFaults(definition, run.parameters ?? {}, {
      builtIn,
      isDeclared: parameters.length === 0 && !unread.includes('parameters'),
    }),
    ...retryFaults(definition, run.template, builtIn),
  ];
}

function retryFaults({ retries = 0 }: OperationTemplateDefinition, name: string, builtIn: BuiltInTemplate): Fault[] {
  if (retries === 0 || builtIn.isRetryable) return [];
  return [{ path: '/retries', message: `must be 0: a failed try of ${name} is not made again`, allowed: [0] }];
}

function runFaults(
  { parameters }: OperationTemplateDefinition,
  skeleton: Readonly<Record<string, unknown>>,
  {
    builtIn,
    isDeclared,
  }: {
    readonly builtIn: BuiltInTemplate;
    /** Whether it is known what its own parameters are: not where their schema is none. */
    readonly isDeclared: boolean;
  },
): Fault[] {
  const path = '/run/parameters';
  const bytes = Buffer.byteLength(JSON.stringify(skeleton), 'utf8');
  if (bytes > MAX_RUN_BYTES) {
    return [{ path, message: `has ${bytes} bytes as JSON; at most ${MAX_RUN_BYTES} are allowed` }];
  }
  const { markers, faults } = markersIn(skeleton);
  const schema = (isDeclared ? (parameters ?? {}) : {}) as SchemaNode & { readonly required?: readonly string[] };
  const declared = Object.keys(schema.properties ?? {});
  const always = [...(schema.required ?? []), ...Object.keys(defaultsIn(schema))];
  const known = builtIn.parameters.properties;
  const unknown = Object.keys(skeleton).filter((name) => !name.startsWith('$') && !Object.hasOwn(known, name));
  const wrong = [
    ...faults,
    ...unknown.flatMap((name) => fixedFaults({ [name]: skeleton[name] }, builtIn).filter(isUnknown)),
    ...(isDeclared ? markers : []).flatMap((marker) => markerFaults(marker, schema, { declared, always, builtIn })),
  ];
  const used = markers.map(({ parameter }) => parameter);
  // A marker that is wrong may have been meant to use it.
  const unused = (wrong.length > 0 || !isDeclared ? [] : declared)
    .filter((name) => !used.includes(name))
    .map((name) => ({ path: `/parameters/properties/${name}`, message: 'is used nowhere in /run/parameters' }));
  const told = new Set(wrong.map((one) => memberOf(one.path)));
  const isOther = [...told].some((name) => name === '' || name.startsWith('$'));
  const constant = isOther ? [] : constantFaults(skeleton, markers, { builtIn, told });
  const own = constant.filter((one) => !told.has(memberOf(one.path)));
  return [...[...wrong, ...own].map((one) => ({ ...one, path: `${path}${one.path}` })), ...unused];
}

function markerFaults(
  { path, parameter, isOptional }: Marker,
  schema: SchemaNode,
  known: {
    readonly declared: readonly string[];
    readonly always: readonly string[];
    readonly builtIn: BuiltInTemplate;
  },
): Fault[] {
  const { declared, always, builtIn } = known;
  if (!declared.includes(parameter)) {
    const { text, values } = listedValues(declared);
    const message = `names ${parameter}, which is not declared in /parameters/properties; declared: ${text || 'none'}`;
    return [{ path, message, allowed: values }];
  }
  if (!isOptional && !always.includes(parameter)) {
    const message = `names ${parameter}, which may be left out; use $optional, or make it required or give it a default`;
    return [{ path, message }];
  }
  const given = schema.properties?.[parameter];
  const fault = given && markerTypeFault({ path, parameter }, builtIn.parameters, given);
  return fault === undefined ? [] : [fault];
}

/**
 * What is wrong whichever parameters are given: those that may be left out both given and not.
 *
 * @param known.told members that something is wrong with already: without them nothing is said of what goes together
 */
function constantFaults(
  whole: Readonly<Record<string, unknown>>,
  all: readonly Marker[],
  { builtIn, told }: { readonly builtIn: BuiltInTemplate; readonly told: ReadonlySet<string> },
): Fault[] {
  const skeleton = Object.fromEntries(Object.entries(whole).filter(([name]) => !told.has(name)));
  const markers = all.filter(({ path }) => !told.has(memberOf(path)));
  const inputs = (isAll: boolean): Record<string, unknown> =>
    Object.fromEntries(
      markers.filter(({ isOptional }) => isAll || !isOptional).map(({ parameter }) => [parameter, parameter]),
    );
  const variants = [inputs(false), inputs(true)].map(
    (given) => fillSkeleton(skeleton, given, 'run') as Readonly<Record<string, unknown>>,
  );
  const [kind] = builtIn.targets;
  const targets = [undefined, ...(kind === undefined ? [] : [{ kind, name: 'target' }])];
  // By the schema only what is fixed is judged: where a marker stands, the operation's own parameters are. What goes with what
  // is judged all over.
  const isFixed = ({ path }: Fault): boolean => !markers.some((marker) => `${path}/`.startsWith(`${marker.path}/`));
  const found = variants.flatMap((variant) => {
    const fixed = fixedFaults(variant, builtIn).filter((one) => isRequired(one) || isFixed(one));
    return targets.map((target) => [...fixed, ...(told.size > 0 ? [] : (builtIn.faults?.(variant, target) ?? []))]);
  });
  const [first = [], ...rest] = found;
  const required = fixedFaults(variants[0] ?? {}, builtIn).filter(isRequired);
  const inAll = first.filter((one) => rest.every((faults) => faults.some((other) => isSame(one, other))));
  return [...inAll, ...required.filter((one) => !inAll.some((other) => isSame(one, other)))];
}

function fixedFaults(parameters: Readonly<Record<string, unknown>>, builtIn: BuiltInTemplate): Fault[] {
  const [isFitting, errors] = Errors(builtIn.parameters, parameters);
  return isFitting ? [] : faultsOf(errors, builtIn.parameters);
}

/** The first part of a pointer, as it stands in the object. */
function memberOf(path: string): string {
  return (path.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~');
}

function isUnknown({ message }: Fault): boolean {
  return message.startsWith('is not known');
}

function isRequired({ message }: Fault): boolean {
  return message === 'is required';
}

function isSame(a: Fault, b: Fault): boolean {
  return a.path === b.path && a.message === b.message;
}
