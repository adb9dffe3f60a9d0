import { fillSkeleton } from '../intent/template.ts';
import type { BuiltInTemplate } from './built-in/built-in-template.ts';
import { BUILT_IN_TEMPLATES, isBuiltInTemplate, type BuiltInTemplateName } from './built-in-templates.ts';
import type { OperationTemplateDefinition } from '../protocol/operation-template.ts';
import { defaultsIn } from './schema-faults.ts';

/** A template by its name, be it built in or made by an admin. */
export interface ResolvedTemplate {
  readonly name: string;
  /** The built-in template that does the work. */
  readonly runs: BuiltInTemplateName;
  readonly builtIn: BuiltInTemplate;
  /** Undefined: the name is that of the built-in template itself. */
  readonly definition?: OperationTemplateDefinition;
  readonly deadlineSeconds: number;
  readonly retries: number;
}

/** @returns undefined where there is no template of that name */
export function resolveTemplate(
  name: string,
  definitions: readonly OperationTemplateDefinition[],
): ResolvedTemplate | undefined {
  const definition = definitions.find((candidate) => candidate.name === name);
  const runs = definition?.run?.template ?? name;
  if (!isBuiltInTemplate(runs)) return undefined;
  const builtIn: BuiltInTemplate = BUILT_IN_TEMPLATES[runs];
  return {
    name,
    runs,
    builtIn,
    ...(definition?.run === undefined ? {} : { definition }),
    deadlineSeconds: definition?.deadlineSeconds ?? builtIn.deadlineSeconds,
    retries: builtIn.isRetryable ? (definition?.retries ?? 0) : 0,
  };
}

/**
 * The parameters that the built-in template runs with; what is not given has its schema's default. Those given must have
 * passed `parameterFaults`.
 *
 * @throws TypeError when a required one is absent
 */
export function builtInParameters(
  { name, definition }: Pick<ResolvedTemplate, 'name' | 'definition'>,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (definition === undefined) return given;
  const all = { ...defaultsIn(definition.parameters), ...given };
  return fillSkeleton(definition.run?.parameters ?? {}, all, name) as Readonly<Record<string, unknown>>;
}
