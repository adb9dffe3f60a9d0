import type { ChartVersion } from './chart-versions.ts';
import { RegistryFault } from './registry-fault.ts';

/** Of a line so many characters are kept. It may hold an icon or a whole text; what is looked for is shorter. */
const MAX_LINE = 1024;
/** Of an index in flow style or JSON, which is read as a whole: of the smallest values it makes a hundred megabytes. */
const MAX_FLOW = 2 * 1024 * 1024;
const MAX_VERSIONS = 20_000;

/** What of a version is kept; an index holds whole descriptions besides. */
const KEPT = /^(["']?)(version|appVersion|created|deprecated)\1\s*:(?:\s+(.*))?$/s;

type Place = 'start' | 'top' | 'entries' | 'chart' | 'end' | 'flow';

/**
 * Finds one chart in a Helm repository's `index.yaml` as it comes in, line by line: an index of tens of megabytes is neither
 * held nor parsed, but for a few texts of each version of the chart. Whoever writes it is not trusted, so no parser gets to
 * see any of it, and each piece is dealt with in time linear to its length. Block style, as `helm repo index` and every
 * server writes it, is told by its indentation; an index in flow style (JSON is one) is read whole, and so must be shorter.
 *
 * ```
 * start ─► top ─► entries ─► chart ─► end        block style
 *   └─► flow                                     '{' first
 * ```
 */
export class IndexScanner {
  readonly #chart: string;
  readonly #decoder = new TextDecoder();
  #place: Place = 'start';
  #rest = '';
  #sawEntries = false;
  #sawChart = false;
  /** Columns: of the charts' names, of the chart's dashes, of a version's keys. */
  #names = 0;
  #dashes = -1;
  #keys = -1;
  #items: Map<string, string>[] = [];

  constructor(chart: string) {
    this.#chart = chart;
  }

  push(piece: Uint8Array): void {
    this.#take(this.#decoder.decode(piece, { stream: true }));
  }

  /** @throws RegistryFault where it was no index, or the chart is not in it */
  end(): readonly ChartVersion[] {
    this.#take(this.#decoder.decode());
    if (this.#place === 'flow') return this.#readFlow();
    this.#line(this.#rest);
    if (!this.#sawEntries) throw new RegistryFault('unusable', 'what it answers is not the index of a Helm repository');
    if (!this.#sawChart) throw missing(this.#chart);
    return this.#items.flatMap((item) => versionOf(Object.fromEntries(item)));
  }

  #take(text: string): void {
    if (this.#place === 'start' && /^\s*\{/.test(this.#rest + text.slice(0, MAX_LINE))) this.#place = 'flow';
    if (this.#place !== 'flow') this.#takeLines(text);
    else this.#rest += text;
    if (this.#place === 'flow' && this.#rest.length > MAX_FLOW) {
      throw new RegistryFault(
        'unusable',
        'its index is not in block style (lines), and too large to be read otherwise',
      );
    }
  }

  #takeLines(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      this.#grow(text, from, end);
      this.#line(this.#rest);
      this.#rest = '';
      from = end + 1;
    }
    this.#grow(text, from, text.length);
  }

  /** One character more than is kept tells that a line was cut. */
  #grow(text: string, from: number, end: number): void {
    this.#rest += text.slice(from, Math.min(end, from + MAX_LINE + 1 - this.#rest.length));
  }

  #line(raw: string): void {
    const line = raw.trimEnd();
    const column = line.search(/[^ ]/);
    if (column === -1 || line.startsWith('#', column)) return;
    const text = line.slice(column);
    if (column === 0 && !isDash(text)) this.#topLine(text);
    else if (this.#place === 'entries' || this.#place === 'chart') this.#inEntries(column, text);
  }

  #topLine(text: string): void {
    if (text.startsWith('%') || text === '---') return;
    if (this.#place === 'chart' || this.#place === 'entries') this.#place = 'end';
    if (this.#place === 'start') this.#place = 'top';
    const value = valueOf(text, 'entries');
    if (value === undefined || this.#place !== 'top') return;
    this.#sawEntries = true;
    this.#place = 'entries';
    if (value !== '' && value !== '{}') throw flowInBlock();
  }

  #inEntries(column: number, text: string): void {
    if (this.#names === 0) this.#names = column;
    const isName = column === this.#names && !isDash(text);
    if (isName) {
      const value = valueOf(text, this.#chart);
      this.#place = value === undefined ? 'entries' : 'chart';
      if (value === undefined) return;
      this.#sawChart = true;
      if (value !== '' && value !== '[]') throw flowInBlock();
      return;
    }
    if (this.#place === 'chart') this.#inChart(column, text);
  }

  #inChart(column: number, text: string): void {
    if (this.#dashes === -1 && isDash(text)) this.#dashes = column;
    let [at, rest] = [column, text];
    if (column === this.#dashes && isDash(text)) {
      if (this.#items.push(new Map()) > MAX_VERSIONS) {
        throw new RegistryFault('unusable', `its index has more than ${MAX_VERSIONS} versions of ${this.#chart}`);
      }
      rest = text.slice(1).trimStart();
      at = column + text.length - rest.length;
      this.#keys = rest === '' ? -1 : at;
    } else if (this.#keys === -1) this.#keys = column;
    if (at !== this.#keys) return;
    if (rest.startsWith('{')) throw flowInBlock();
    const [, , key, value = ''] = KEPT.exec(rest) ?? [];
    if (key === undefined) return;
    const scalar = column + text.length > MAX_LINE ? undefined : scalarOf(value);
    if (scalar !== undefined) this.#items.at(-1)?.set(key, scalar);
  }

  #readFlow(): readonly ChartVersion[] {
    let index: unknown;
    try {
      index = JSON.parse(this.#rest);
    } catch {
      throw new RegistryFault('unusable', 'its index is neither JSON nor YAML in block style');
    }
    const entries = memberOf(index, 'entries');
    if (entries === undefined)
      throw new RegistryFault('unusable', 'what it answers is not the index of a Helm repository');
    const found = memberOf(entries, this.#chart);
    if (!Array.isArray(found)) throw missing(this.#chart);
    if (found.length > MAX_VERSIONS) {
      throw new RegistryFault('unusable', `its index has more than ${MAX_VERSIONS} versions of ${this.#chart}`);
    }
    return found.flatMap(versionOf);
  }
}

function missing(chart: string): RegistryFault {
  return new RegistryFault('refused', `its index has no chart ${chart}`);
}

function flowInBlock(): RegistryFault {
  return new RegistryFault('unusable', 'its index mixes block style with flow style, which is not read');
}

function isDash(text: string): boolean {
  return text === '-' || text.startsWith('- ');
}

/** What stands behind `key:`, without a comment; undefined where the line has another key. */
function valueOf(text: string, key: string): string | undefined {
  const spelling = [key, `"${key}"`, `'${key}'`].find((candidate) => text.startsWith(`${candidate}:`));
  if (spelling === undefined) return undefined;
  const value = text.slice(spelling.length + 1);
  if (value !== '' && !value.startsWith(' ')) return undefined;
  return beforeComment(value);
}

/**
 * A scalar as its text: `1.10` is no number here, and a time no date. Undefined for all that is not in one line, plain or in
 * quotes without escapes.
 */
function scalarOf(value: string): string | undefined {
  const [, double, single] = /^(?:"([^"\\]*)"|'((?:[^']|'')*)')(?:\s+#.*)?$/s.exec(value) ?? [];
  const quoted = double ?? single?.replaceAll("''", "'");
  const plain = /^[[\]{},&*!|>%@`"'#]/.test(value) ? undefined : beforeComment(value);
  const text = quoted ?? plain;
  // A copy: a part of a text keeps the whole piece of the index in memory.
  return text === undefined || text === '' ? undefined : Buffer.from(text, 'utf8').toString('utf8');
}

function beforeComment(value: string): string {
  const comment = value.search(/\s#/);
  return (comment === -1 ? value : value.slice(0, comment)).trim();
}

/** One that tells no version counts as one that is none. */
function versionOf(item: unknown): ChartVersion[] {
  const version = memberOf(item, 'version');
  if (typeof version !== 'string') return [{ version: '' }];
  const appVersion = memberOf(item, 'appVersion');
  const created = memberOf(item, 'created');
  const at = typeof created === 'string' && created.length <= 64 ? Date.parse(created) : Number.NaN;
  const deprecated = memberOf(item, 'deprecated');
  return [
    {
      version,
      ...(typeof appVersion === 'string' && appVersion.length <= 128 ? { appVersion } : {}),
      ...(Number.isNaN(at) ? {} : { created: new Date(at).toISOString() }),
      ...(deprecated === true || deprecated === 'true' ? { deprecated: true as const } : {}),
    },
  ];
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
