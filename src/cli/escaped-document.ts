import { Document, isScalar, Scalar, visit } from 'yaml';

/** What JSON lets stand as it is, and a terminal would act on: C1, DEL, separators of lines, marks of direction. */
const ACTING = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const TO_ESCAPE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

/** JSON, harmless to a terminal: the same value, with escapes for what would act on one. */
export function jsonText(value: unknown, indent?: number): string {
  return escaped(JSON.stringify(value, null, indent));
}

/** YAML, harmless to a terminal, whose words are words to readers of YAML 1.1 too (`no`, `on`). */
export function yamlText(value: unknown): string {
  const document = new Document(value, { compat: 'yaml-1.1' });
  visit(document, {
    Scalar: (_, node) => {
      if (isScalar(node) && typeof node.value === 'string' && TO_ESCAPE.test(node.value)) {
        node.type = Scalar.QUOTE_DOUBLE;
      }
    },
  });
  return escaped(document.toString({ lineWidth: 0 }));
}

/** Such characters are in quoted strings alone. */
function escaped(text: string): string {
  return text.replace(ACTING, (found) => String.raw`\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
