import { isJsonObject } from './json-value.ts';

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'every' }
  | { readonly kind: 'filter'; readonly path: readonly Step[]; readonly equals: string | undefined };

const STEP =
  /\.([A-Za-z_][\w-]*(?:\\\.[\w-]+)*)|\[(-?\d+)\]|\[\*\]|\.\*|\['((?:[^'\\]|\\.)*)'\]|\[\?\(@((?:\.[\w-]+)+)(?:\s*==\s*(?:"([^"]*)"|'([^']*)'))?\)\]/y;

const parsed = new Map<string, readonly Step[]>();

function parse(path: string): readonly Step[] {
  const text = path.startsWith('.') || path.startsWith('[') ? path : `.${path}`;
  const steps: Step[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const match = STEP.exec(text);
    // An expression beyond what printer columns use shows nothing, as a field that is absent does.
    if (match === null) return [{ kind: 'field', name: '' }];
    const [whole, field, index, quoted, filter, double, single] = match;
    if (field !== undefined) steps.push({ kind: 'field', name: field.replaceAll('\\.', '.') });
    else if (index !== undefined) steps.push({ kind: 'index', index: Number(index) });
    else if (quoted !== undefined) steps.push({ kind: 'field', name: quoted.replaceAll(/\\(.)/g, '$1') });
    else if (filter !== undefined) {
      const path = filter.slice(1).split('.');
      steps.push({
        kind: 'filter',
        path: path.map((name) => ({ kind: 'field', name })),
        equals: double ?? single,
      });
    } else if (whole !== '') steps.push({ kind: 'every' });
  }
  return steps;
}

function follow(steps: readonly Step[], values: readonly unknown[]): readonly unknown[] {
  return steps.reduce<readonly unknown[]>((current, step) => current.flatMap((value) => take(step, value)), values);
}

function take(step: Step, value: unknown): readonly unknown[] {
  switch (step.kind) {
    case 'field':
      return isJsonObject(value) && value[step.name] !== undefined ? [value[step.name]] : [];
    case 'index': {
      const item: unknown = Array.isArray(value) ? value.at(step.index) : undefined;
      return item === undefined ? [] : [item];
    }
    case 'every':
      if (Array.isArray(value)) return value;
      return isJsonObject(value) ? Object.values(value) : [];
    case 'filter':
      if (!Array.isArray(value)) return [];
      return value.filter((item: unknown) => {
        const [found] = follow(step.path, [item]);
        return step.equals === undefined ? found !== undefined : found === step.equals;
      });
  }
}

/** The JSONPath that printer columns use: fields, indexes, `[*]` and `[?(@.type=="Ready")]`. All matches, in order. */
export function evaluateJsonPath(path: string, value: unknown): readonly unknown[] {
  let steps = parsed.get(path);
  if (steps === undefined) {
    steps = parse(path);
    parsed.set(path, steps);
  }
  return follow(steps, [value]);
}
