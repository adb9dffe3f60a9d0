import { parse, parseDocument, Scalar } from 'yaml';
import type { KubeObject } from '../resources/kube-object.ts';

const STYLE = { lineWidth: 0, flowCollectionPadding: false };

/** Where a value goes, and the value. Undefined takes the member out. */
export type FieldChange = readonly [path: readonly (string | number)[], value: string | number | undefined];

/** A one-object YAML text with fields set; comments, order and everything else stay. */
export function withFields(text: string, changes: readonly FieldChange[]): string {
  const document = parseDocument(text);
  for (const [path, value] of changes) {
    if (value === undefined) document.deleteIn(path);
    else document.setIn(path, scalar(value));
  }
  return document.toString(STYLE);
}

/** A one-object YAML text with `item` at the end of the list at `path`. */
export function withItem(text: string, path: readonly (string | number)[], item: unknown): string {
  const document = parseDocument(text);
  document.addIn(path, document.createNode(item));
  return document.toString(STYLE);
}

/** Quoted, so that no reader of YAML 1.1 takes a name such as `on`, `1e3` or `012` for something else. */
function scalar(value: string | number): Scalar {
  const node = new Scalar(value);
  if (typeof value === 'string') node.type = Scalar.QUOTE_DOUBLE;
  return node;
}

/** Comment lines; an empty one stays empty. */
export function commentLines(lines: readonly string[]): string {
  return lines.map((line) => (line === '' ? '#\n' : `# ${line}\n`)).join('');
}

/** What `kubectl apply -f` takes: one document per text, after comment lines that say what this file is. */
export function joinDocuments(header: readonly string[], texts: readonly string[]): string {
  return `${commentLines(header)}---\n${texts.map((text) => `${text.trim()}\n`).join('---\n')}`;
}

export function objectOf(text: string): KubeObject {
  return parse(text) as KubeObject;
}
