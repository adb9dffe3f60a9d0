import { Errors } from 'typebox/schema';
import { fillSkeleton } from '../intent/template.ts';
import type { Fault } from '../protocol/app-error.ts';
import type { OperationTemplateDefinition } from '../protocol/operation-template.ts';
import { faultsOf, type SchemaNode } from '../protocol/schema-faults.ts';
import type { BuiltInTemplate } from './built-in/built-in-template.ts';
import { BUILT_IN_TEMPLATES, isBuiltInTemplate } from './built-in-templates.ts';
import { defaultsIn, schemaFaults } from './schema-faults.ts';
import { markersIn, type Marker } from './skeleton-markers.ts';

/** Of `run.parameters`, in bytes of its JSON. */
const MAX_RUN_BYTES = 32 * 1024;

/**
 * Everything that is wrong with an operation template beyond its form, as faults with paths from its root. One without
 * faults runs with any parameters that its own schema takes, as far as that can be said before they are there.
 */
export function definitionFaults(definition: OperationTemplateDefinition): Fault[] {
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
    // What its parameters are is not known where their schema is none.
    ...(parameters.length > 0 ? [] : runFaults(definition, run.parameters ?? {}, builtIn)),
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
  builtIn: BuiltInTemplate,
): Fault[] {
  const path = '/run/parameters';
  const bytes = Buffer.byteLength(JSON.stringify(skeleton), 'utf8');
  if (bytes > MAX_RUN_BYTES) {
    return [{ path, message: `has ${bytes} bytes as JSON; at most ${MAX_RUN_BYTES} are allowed` }];
  }
  const { markers, faults } = markersIn(skeleton);
  const schema = (parameters ?? {}) as SchemaNode & { readonly required?: readonly string[] };
  const declared = Object.keys(schema.properties ?? {});
  const always = [...(schema.required ?? []), ...Object.keys(defaultsIn(schema))];
  const known = builtIn.parameters.properties;
  const unknown = Object.keys(skeleton).filter((name) => !name.startsWith('$') && !Object.hasOwn(known, name));
  const wrong = [
    ...faults,
    ...unknown.flatMap((name) => fixedFaults({ [name]: skeleton[name] }, builtIn).filter(isUnknown)),
    ...markers.flatMap((marker) => markerFaults(marker, schema, { declared, always, builtIn })),
  ];
  const used = markers.map(({ parameter }) => parameter);
  // A marker that is wrong may have been meant to use it.
  const unused = (wrong.length > 0 ? [] : declared)
    .filter((name) => !used.includes(name))
    .map((name) => ({ path: `/parameters/properties/${name}`, message: 'is used nowhere in /run/parameters' }));
  // Only what is fixed is judged: where a marker stands, the operation's own parameters are.
  const places = markers.map((marker) => marker.path);
  const fixed = wrong.length > 0 ? [] : constantFaults(skeleton, markers, builtIn);
  const own = fixed.filter((one) => isRequired(one) || !places.some((place) => `${one.path}/`.startsWith(`${place}/`)));
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
    const message = `names ${parameter}, which is not declared in /parameters/properties; declared: ${declared.join(', ') || 'none'}`;
    return [{ path, message, allowed: declared }];
  }
  if (!isOptional && !always.includes(parameter)) {
    const message = `names ${parameter}, which may be left out; use $optional, or make it required or give it a default`;
    return [{ path, message }];
  }
  const given = schema.properties?.[parameter]?.type;
  const place = path.split('/');
  const wanted = (builtIn.parameters as SchemaNode).properties?.[place[1] ?? '']?.type;
  if (place.length !== 2 || wanted === undefined || given === wanted) return [];
  if (wanted === 'number' && given === 'integer') return [];
  return [{ path, message: `takes ${wanted}, and the parameter ${parameter} is of type ${given}`, allowed: wanted }];
}

/** What is wrong whichever parameters are given: those that may be left out both given and not. */
function constantFaults(
  skeleton: Readonly<Record<string, unknown>>,
  markers: readonly Marker[],
  builtIn: BuiltInTemplate,
): Fault[] {
  const inputs = (isAll: boolean): Record<string, unknown> =>
    Object.fromEntries(
      markers.filter(({ isOptional }) => isAll || !isOptional).map(({ parameter }) => [parameter, parameter]),
    );
  const variants = [inputs(false), inputs(true)].map(
    (given) => fillSkeleton(skeleton, given, 'run') as Readonly<Record<string, unknown>>,
  );
  const [kind] = builtIn.targets;
  const targets = [undefined, ...(kind === undefined ? [] : [{ kind, name: 'target' }])];
  const found = variants.flatMap((variant) =>
    targets.map((target) => [...fixedFaults(variant, builtIn), ...(builtIn.faults?.(variant, target) ?? [])]),
  );
  const [first = [], ...rest] = found;
  const required = fixedFaults(variants[0] ?? {}, builtIn).filter(isRequired);
  const inAll = first.filter((one) => rest.every((faults) => faults.some((other) => isSame(one, other))));
  return [...inAll, ...required.filter((one) => !inAll.some((other) => isSame(one, other)))];
}

function fixedFaults(parameters: Readonly<Record<string, unknown>>, builtIn: BuiltInTemplate): Fault[] {
  const [isFitting, errors] = Errors(builtIn.parameters, parameters);
  return isFitting ? [] : faultsOf(errors, builtIn.parameters);
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
