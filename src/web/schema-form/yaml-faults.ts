import { isScalar, visit, type Document, type LineCounter, type Node, type Scalar } from 'yaml';

const PLAIN_TAGS: ReadonlySet<string> = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((name) => `tag:yaml.org,2002:${name}`),
);
/** What values of a chart never are; far from what the way to the cluster could not hold. */
const MAX_DEPTH = 100;

/** What of a document JSON has no place for, so that it would become something else: where, and what to do. */
export function faultInYaml(document: Document, lines: LineCounter): string | undefined {
  let fault: string | undefined;
  const refuse = (node: Node, what: string): symbol => {
    fault = `${what} at line ${lines.linePos(node.range?.[0] ?? 0).line}`;
    return visit.BREAK;
  };
  visit(document, {
    Node: (_key, node, path) => {
      if (path.length > 2 * MAX_DEPTH) return refuse(node, 'is nested too deeply');
      const { tag } = node as { readonly tag?: string };
      if (tag !== undefined && !PLAIN_TAGS.has(tag))
        return refuse(node, `the tag ${shortTag(tag)} has no place in values`);
      if (isScalar(node) && isRounded(node)) {
        return refuse(node, `${node.source} has more digits than a number keeps: put it in quotes`);
      }
      return undefined;
    },
    Alias: (_key, node, path) => {
      const target = node.resolve(document);
      const isInside = target !== undefined && path.some((one) => one === target);
      return isInside ? refuse(node, `*${node.source} stands in itself, which has no end,`) : undefined;
    },
    Pair: (_key, { key }) => {
      if (!isScalar(key) || key.value === null) {
        const node = (key ?? document.contents) as Node;
        return refuse(node, 'a name must be plain text, and this one is not,');
      }
      if (key.value === '<<' && key.type === 'PLAIN') {
        return refuse(key, 'merging by << is not taken: write the members out,');
      }
      return undefined;
    },
  });
  return fault;
}

function shortTag(tag: string): string {
  return tag.replace('tag:yaml.org,2002:', '!!');
}

/** Whether a number that was read is another one than was written. Whole ones are read exactly. */
function isRounded({ value, source }: Scalar): boolean {
  if (typeof value !== 'number' || !Number.isFinite(value) || source === undefined) return false;
  return digitsOf(source) !== digitsOf(String(value));
}

/** The same for the same number, however it is written: `1.50`, `15e-1`. */
function digitsOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text.replace(/^\+/, '')) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  return `${sign}${kept}e${Number(power) - fraction.length + (digits.length - kept.length)}`;
}
