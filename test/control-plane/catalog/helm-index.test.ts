import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { IndexScanner } from '../../../src/control-plane/catalog/index-scanner.ts';
import { ChartRegistry, helmIndex } from '../../support/chart-registry.ts';
import { askRegistry } from './ask-registry.ts';

let registry: ChartRegistry;
const PATH = '/stable/index.yaml';

beforeEach(async () => {
  registry = await ChartRegistry.start();
});
afterEach(async () => await registry[Symbol.asyncDispose]());

function scan(text: string, chart = 'podinfo', piece = text.length) {
  const scanner = new IndexScanner(chart);
  const bytes = Buffer.from(text, 'utf8');
  for (let at = 0; at < bytes.length; at += piece) scanner.push(bytes.subarray(at, at + piece));
  return scanner.end();
}

describe('the index of a Helm repository', () => {
  it.for(['/stable', '/stable/'])('is read at %s, and tells versions with what they are of', async (path) => {
    const created = '2026-03-01T10:00:00.123Z';
    registry.indices.set(
      PATH,
      helmIndex([
        { version: '6.5.0' },
        { version: '6.10.0', appVersion: '1.10' },
        { version: '6.6.0', deprecated: true },
        { version: 'v6.7.0' },
      ]),
    );
    expect(await askRegistry(registry.helm(path))).toEqual({
      state: 'fetched',
      etag: expect.stringMatching(/^".{16}"$/),
      versions: {
        versions: [
          { version: '6.10.0', appVersion: '1.10', created },
          { version: '6.6.0', appVersion: '1.0', created, deprecated: true },
          { version: '6.5.0', appVersion: '1.0', created },
        ],
        leftOut: 1,
      },
    });
  });

  it('is not read again where its ETag is the same', async () => {
    registry.indices.set(PATH, helmIndex([{ version: '6.5.0' }]));
    const first = (await askRegistry(registry.helm())) as { readonly etag: string };
    expect(await askRegistry(registry.helm(), { etag: first.etag })).toEqual({ state: 'unchanged' });
    registry.indices.set(PATH, helmIndex([{ version: '6.6.0' }]));
    expect(await askRegistry(registry.helm(), { etag: first.etag })).toMatchObject({ state: 'fetched' });
  });

  it.for([
    [
      'has no such chart',
      'apiVersion: v1\nentries:\n  other:\n  - version: 1.0.0\n',
      'refused: its index has no chart podinfo',
    ],
    ['has no charts', 'apiVersion: v1\nentries: {}\n', 'refused: its index has no chart podinfo'],
    [
      'is a page',
      '<html><body>log in</body></html>',
      'unusable: what it answers is not the index of a Helm repository',
    ],
    ['is nothing', '', 'unusable: what it answers is not the index of a Helm repository'],
    ['is JSON of something else', '{"a":1}', 'unusable: what it answers is not the index of a Helm repository'],
    ['is broken JSON', '{"entries":', 'unusable: its index is neither JSON nor YAML in block style'],
    [
      'is half in flow style',
      'entries: {podinfo: [{version: 1.0.0}]}\n',
      'unusable: its index mixes block style with flow style, which is not read',
    ],
    [
      'is one line without an end',
      'a'.repeat(9 * 1024 * 1024),
      'unusable: what it answers is not the index of a Helm repository',
    ],
    [
      'is JSON without an end',
      `{"a":"${'a'.repeat(2 * 1024 * 1024)}`,
      'unusable: its index is not in block style (lines), and too large to be read otherwise',
    ],
    [
      'has a version in flow style',
      'entries:\n  podinfo:\n  - {version: 1.0.0}\n',
      'unusable: its index mixes block style with flow style, which is not read',
    ],
  ] as const)('is told where it %s', async ([, text, fault]) => {
    registry.indices.set(PATH, text);
    expect(await askRegistry(registry.helm())).toBe(fault);
  });

  it('is read where it has more than thirty megabytes, and not where it has more than 64', async () => {
    const one = `  other:\n  - description: ${'x'.repeat(1000)}\n    version: 1.0.0\n`;
    const index = (count: number): string =>
      `apiVersion: v1\nentries:\n${one.repeat(count)}  podinfo:\n  - version: 6.5.0\n`;
    registry.indices.set(PATH, index(30_000));
    expect(await askRegistry(registry.helm())).toMatchObject({
      versions: { versions: [{ version: '6.5.0' }] },
    });
    registry.indices.set(PATH, index(66_000));
    expect(await askRegistry(registry.helm())).toBe(`unusable: ${registry.host} answers with more than 67108864 bytes`);
  });

  it('is read as JSON too', () => {
    const entries = { podinfo: [{ version: '1.0.0', created: 'never', deprecated: true }, { version: 2 }, null] };
    expect(scan(JSON.stringify({ apiVersion: 'v1', entries }))).toEqual([
      { version: '1.0.0', deprecated: true },
      { version: '' },
      { version: '' },
    ]);
  });

  it('tells texts as they are written, not as numbers or dates', () => {
    const text = `entries:\n    "podinfo":   # ours\n        - version: 1.10   # newest\n          appVersion: 0x10\n        -\n          version: '2.0.0'\n`;
    expect(scan(text)).toEqual([{ version: '1.10', appVersion: '0x10' }, { version: '2.0.0' }]);
  });

  it.for([
    ["'1.0.0'  # newest", '1.0.0'],
    ["'it''s'", "it's"],
    ['"1.0.0"', '1.0.0'],
    ['1.0.0#x', '1.0.0#x'],
    ['"1\\x2e0"', ''],
    ['"1.0.0', ''],
    ['&a 1.0.0', ''],
    ['*a', ''],
    ['!!str 1.0.0', ''],
    ['|', ''],
    ['', ''],
    ['[1.0.0]', ''],
  ] as const)('tells the version %s as "%s"', ([written, read]) => {
    expect(scan(`entries:\n  podinfo:\n  - version: ${written}\n`)).toEqual([{ version: read }]);
  });

  it('is read in time where its lines are made to cost much, and keeps none of them', () => {
    const head = 'entries:\n  podinfo:\n';
    const large = `  - version: [${'a,'.repeat(2_000_000)}]\n    appVersion: ${'&a '.repeat(1_000_000)}\n`;
    const many = `  - version: "${' #'.repeat(400)}\u2028\n`.repeat(15_000);
    const started = performance.now();
    expect(scan(`${head}${large.repeat(4)}`, 'podinfo', 65_536)).toEqual(
      Array.from({ length: 4 }, () => ({ version: '' })),
    );
    expect(scan(`${head}  - version: 1.0.0\n${'x'.repeat(20_000_000)}`, 'podinfo', 1000)).toEqual([
      { version: '1.0.0' },
    ]);
    expect(scan(`${head}${many}`, 'podinfo', 65_536)).toHaveLength(15_000);
    expect(scan(`${head}${`  podinfo: ${' #'.repeat(400)}\u2028\n`.repeat(15_000)}`, 'podinfo', 65_536)).toEqual([]);
    // Some 50 MB: a second on a slow machine; by a parser one line of the first is nine.
    expect(performance.now() - started).toBeLessThan(8000);
  });

  it('is scanned to what a parser of the whole would find, however it is cut, whatever stands in it', () => {
    const words = fc.constantFrom(
      'version: 9.9.9',
      '- version: 8.8.8',
      'entries:',
      '  podinfo:',
      '',
      '# x',
      '{',
      'a: "b',
      '---',
    );
    const text = fc.array(words, { maxLength: 6 }).map((lines) => lines.join('\n'));
    const chart = fc.record({
      apiVersion: fc.constant('v2'),
      description: text,
      dependencies: fc.array(fc.record({ name: text, version: fc.constant('7.7.7') }), { maxLength: 2 }),
      version: fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9)).map((parts) => parts.join('.')),
      keywords: fc.array(text, { maxLength: 2 }),
    });
    const charts = fc.array(chart, { minLength: 1, maxLength: 3 });
    const options = fc.constantFrom({ indentSeq: false }, { indentSeq: true }, { indent: 4 });
    fc.assert(
      fc.property(charts, charts, options, fc.integer({ min: 1, max: 50 }), (ours, others, style, piece) => {
        const index = { apiVersion: 'v1', entries: { a: others, podinfo: ours, z: others }, generated: 'now' };
        const yaml = stringify(index, { lineWidth: 0, ...style });
        expect(scan(yaml, 'podinfo', piece)).toEqual(ours.map(({ version }) => ({ version })));
      }),
    );
  });
});
