import { parse } from 'yaml';
import type { ChartVersion } from './chart-versions.ts';
import { RegistryFault } from './registry-fault.ts';

/** A line may hold an icon. */
const MAX_LINE = 4 * 1024 * 1024;
/** Of an index in flow style or JSON, which is read as a whole. */
const MAX_FLOW = 8 * 1024 * 1024;
const MAX_VERSIONS = 20_000;

/** What of a version is kept; an index holds whole descriptions besides. */
const KEPT = /^(version|appVersion|created|deprecated)\s*:(\s|$)/;

type Place = 'start' | 'top' | 'entries' | 'chart' | 'end' | 'flow';

/**
 * Finds one chart in a Helm repository's `index.yaml` as it comes in, line by line: an index of tens of megabytes is neither
 * held nor parsed, but for the few lines that are about the chart. Block style, as `helm repo index` and every server writes
 * it, is told by its indentation; an index in flow style (JSON is one) is read whole, and so must be shorter.
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
  #items: string[][] = [];

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
    return this.#items.flatMap((lines) => versionOf(parseItem(lines.join('\n'))));
  }

  #take(text: string): void {
    this.#rest += text;
    if (this.#place === 'start' && this.#rest.trimStart().startsWith('{')) this.#place = 'flow';
    if (this.#place !== 'flow') {
      const lines = this.#rest.split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.#line(line);
    }
    if (this.#rest.length > (this.#place === 'flow' ? MAX_FLOW : MAX_LINE)) {
      throw new RegistryFault(
        'unusable',
        'its index is not in block style (lines), and too large to be read otherwise',
      );
    }
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
      if (this.#items.push([]) > MAX_VERSIONS) {
        throw new RegistryFault('unusable', `its index has more than ${MAX_VERSIONS} versions of ${this.#chart}`);
      }
      rest = text.slice(1).trimStart();
      at = column + text.length - rest.length;
      this.#keys = rest === '' ? -1 : at;
    } else if (this.#keys === -1) this.#keys = column;
    const isWhole = rest.startsWith('{');
    if (at === this.#keys && (KEPT.test(rest) || isWhole)) this.#items.at(-1)?.push(rest);
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
  return value.replace(/\s#.*$/, '').trim();
}

/** Each scalar as its text: `1.10` is no number here, and a time no date. */
function parseItem(text: string): unknown {
  try {
    return parse(text, { schema: 'failsafe', uniqueKeys: false, logLevel: 'silent', maxAliasCount: 0 });
  } catch {
    return undefined;
  }
}

/** One that tells no version counts as one that is none. */
function versionOf(item: unknown): ChartVersion[] {
  const version = memberOf(item, 'version');
  if (typeof version !== 'string') return [{ version: '' }];
  const appVersion = memberOf(item, 'appVersion');
  const created = memberOf(item, 'created');
  const at = typeof created === 'string' ? Date.parse(created) : Number.NaN;
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
