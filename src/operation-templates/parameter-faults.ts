import { Errors } from 'typebox/schema';
import type { Fault } from '../protocol/app-error.ts';
import { faultsOf, type SchemaNode } from '../protocol/schema-faults.ts';
import type { OperationTarget } from './built-in/built-in-template.ts';
import { builtInParameters, type ResolvedTemplate } from './resolve-template.ts';
import { defaultsIn } from './schema-faults.ts';

const TAKES_NONE = { type: 'object', properties: {}, additionalProperties: false };

/**
 * Everything that is wrong with the parameters of an operation, as faults below `/parameters` (its target: `/targetRef`): by the template's own schema,
 * and where that has nothing to say, by that of the built-in template which it runs. Schemas of admins hold no pattern
 * (`schemaFaults`), so that this is done in time on either side.
 */
export function parameterFaults(
  resolved: ResolvedTemplate,
  given: Readonly<Record<string, unknown>>,
  target: OperationTarget | undefined,
): Fault[] {
  const { definition, builtIn } = resolved;
  if (definition !== undefined) {
    const schema = definition.parameters ?? TAKES_NONE;
    const own = judged(schema, { ...defaultsIn(schema), ...given });
    if (own.length > 0) return below(own);
  }
  const run = builtInParameters(resolved, given);
  return [
    ...below([...judged(builtIn.parameters, run), ...(builtIn.faults?.(run, target) ?? [])]),
    ...targetFaults(resolved, target),
  ];
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
