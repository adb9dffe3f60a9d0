import { Errors } from 'typebox/schema';
import type { Fault } from '../protocol/app-error.ts';
import { faultsOf, type SchemaNode } from '../protocol/schema-faults.ts';
import type { OperationTarget } from './built-in/built-in-template.ts';
import { builtInParameters, type ResolvedTemplate } from './resolve-template.ts';
import { defaultsIn } from './schema-faults.ts';
import { markersIn } from './skeleton-markers.ts';

const TAKES_NONE = { type: 'object', properties: {}, additionalProperties: false };

/**
 * Everything that is wrong with the parameters of an operation, as faults below `/parameters` (its target: `/targetRef`): by the template's own schema,
 * and where that has nothing to say, by that of the built-in template which it runs. Schemas of admins hold no pattern
 * (`schemaFaults`), so that this is done in time on either side. Parameters that it does not declare are taken only where it
 * says so (`additionalProperties`): nothing is made of them, and a mistyped one would be as good as not given.
 */
export function parameterFaults(
  resolved: ResolvedTemplate,
  given: Readonly<Record<string, unknown>>,
  target: OperationTarget | undefined,
): Fault[] {
  const { definition, builtIn } = resolved;
  if (definition !== undefined) {
    const schema = { additionalProperties: false, ...(definition.parameters ?? TAKES_NONE) };
    const own = judged(schema, { ...defaultsIn(schema), ...given });
    if (own.length > 0) return below(own);
  }
  const run = builtInParameters(resolved, given);
  const found = judged(builtIn.parameters, run);
  const between = builtIn.faults?.(run, target) ?? [];
  return [...inRequest(resolved, found, between), ...targetFaults(resolved, target)];
}

/**
 * Faults of what a built-in template runs with, at the parameters of the request that they come from. One that comes from
 * none, as the template of an admin has it fixed, is about the target where there may be one, and else about the whole.
 */
function inRequest(resolved: ResolvedTemplate, found: readonly Fault[], between: readonly Fault[]): Fault[] {
  const { definition, runs, name, builtIn } = resolved;
  if (definition === undefined) return below([...found, ...between]);
  const { markers } = markersIn(definition.run?.parameters ?? {});
  const says = ({ path, message }: Fault): string => `does not do for ${runs}, which ${name} runs: ${path} ${message}`;
  const translated = (fault: Fault, otherwise: string): Fault => {
    const marker = markers.find(({ path }) => `${fault.path}/`.startsWith(`${path}/`));
    if (marker === undefined) return { path: otherwise, message: says(fault) };
    return { ...fault, path: `/parameters/${marker.parameter}${fault.path.slice(marker.path.length)}` };
  };
  const all = [
    ...found.map((fault) => translated(fault, '/parameters')),
    ...between.map((fault) => translated(fault, builtIn.targets.length > 0 ? '/targetRef' : '/parameters')),
  ];
  // A parameter may stand at several places.
  return [...new Map(all.map((fault) => [`${fault.path} ${fault.message}`, fault])).values()];
}

function targetFaults({ builtIn, name }: ResolvedTemplate, target: OperationTarget | undefined): Fault[] {
  if (target === undefined || builtIn.targets.includes(target.kind)) return [];
  const message =
    builtIn.targets.length === 0
      ? `operation template ${name} takes no targetRef`
      : `operation template ${name} works on ${builtIn.targets.join(', ')}; targetRef names a ${target.kind}`;
  return [{ path: '/targetRef', message, allowed: builtIn.targets }];
}

function judged(schema: SchemaNode, parameters: Readonly<Record<string, unknown>>): Fault[] {
  const [fits, errors] = Errors(schema as Readonly<Record<string, unknown>>, parameters);
  return fits ? [] : faultsOf(errors, schema);
}

function below(faults: readonly Fault[]): Fault[] {
  return faults.map((fault) => ({ ...fault, path: `/parameters${fault.path}` }));
}
