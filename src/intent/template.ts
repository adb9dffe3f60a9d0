import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { setOwn } from '../protocol/own-property.ts';

/** The files of `templates/` that intents render to. */
export type TemplateName = 'application-instance' | 'operation' | 'tombstone';

/** Inputs by name. One that is `undefined` counts as absent. */
export type TemplateInputs = Readonly<Record<string, unknown>>;

/** A skeleton as it was read; `fill` gives it its inputs. */
export interface Template {
  readonly name: TemplateName;
  readonly skeleton: unknown;
}

/** Reads a template of the project's `templates/`. Throws when it is not there: the installation is broken. */
export function loadTemplate(name: TemplateName): Template {
  const url = new URL(`../../templates/${name}.yaml`, import.meta.url);
  return { name, skeleton: parse(readFileSync(url, 'utf8')) as unknown };
}

/**
 * The skeleton with its inputs in place. An input stands for a whole node, never for a part of a text, so no value can
 * reach beyond its place; a value that itself looks like `{ $value: … }` is left as it is.
 *
 * @throws TypeError when a required input is absent
 */
export function fill(template: Template, inputs: TemplateInputs): Record<string, unknown> {
  return fillSkeleton(template.skeleton, inputs, template.name) as Record<string, unknown>;
}

/** The same of any skeleton; `template` names it in errors. */
export function fillSkeleton(node: unknown, inputs: TemplateInputs, template: string): unknown {
  if (Array.isArray(node)) return node.map((item) => fillSkeleton(item, inputs, template));
  if (typeof node !== 'object' || node === null) return node;
  const members = Object.entries(node as Record<string, unknown>);
  const [only] = members;
  if (members.length === 1 && only?.[0] === '$value') {
    const value = input(inputs, only[1]);
    if (value === undefined) throw new TypeError(`template ${template} needs the input ${String(only[1])}`);
    return value;
  }
  const filled: Record<string, unknown> = {};
  for (const [name, member] of members) {
    const optional = optionalInput(member);
    const value = optional === undefined ? fillSkeleton(member, inputs, template) : input(inputs, optional);
    if (value !== undefined) setOwn(filled, name, value);
  }
  return filled;
}

function optionalInput(node: unknown): unknown {
  if (typeof node !== 'object' || node === null) return undefined;
  const members = Object.entries(node as Record<string, unknown>);
  return members.length === 1 && members[0]?.[0] === '$optional' ? members[0][1] : undefined;
}

function input(inputs: TemplateInputs, name: unknown): unknown {
  return typeof name === 'string' && Object.hasOwn(inputs, name) ? inputs[name] : undefined;
}
