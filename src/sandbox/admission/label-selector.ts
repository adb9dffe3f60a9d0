import { isJsonObject, listAt, objectAt, stringAt, type JsonObject } from '../json-value.ts';

type Labels = Readonly<Record<string, string>>;

function expressionMatches(expression: JsonObject, labels: Labels): boolean {
  const value = labels[stringAt(expression, 'key') ?? ''];
  const values = listAt(expression, 'values');
  switch (expression['operator']) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    default:
      return value === undefined;
  }
}

/** A `LabelSelector`: `matchLabels` and `matchExpressions`, all of which must hold. An empty one selects everything. */
export function labelSelectorMatches(selector: JsonObject): (labels: Labels) => boolean {
  const wanted = Object.entries(objectAt(selector, 'matchLabels'));
  const expressions = listAt(selector, 'matchExpressions').filter(isJsonObject);
  return (labels) =>
    wanted.every(([key, value]) => labels[key] === value) &&
    expressions.every((expression) => expressionMatches(expression, labels));
}
