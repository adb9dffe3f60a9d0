import { parseExactJson } from '../../src/protocol/exact-json.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { parseManifest } from '../../src/intent/manifest.ts';
import { renderIntent } from '../../src/intent/render.ts';
import { inputs, install, target } from './podinfo-intent.ts';

function read(text: string, version: '1.1' | '1.2'): unknown {
  const documents = parseAllDocuments(text, { version });
  expect(documents).toHaveLength(1);
  const [document] = documents as ReturnType<typeof parseAllDocuments<never>>;
  expect([...document!.errors, ...document!.warnings]).toEqual([]);
  return document!.toJS();
}

const tricky = fc.constantFrom(
  'y',
  'N',
  'yes',
  'No',
  'on',
  'OFF',
  'true',
  'False',
  'null',
  'Null',
  '~',
  '',
  ' ',
  '<<',
  '=',
  '-',
  '?',
  ':',
  '!',
  '1e3',
  '1E3',
  '.5',
  '5.',
  '-.5',
  '+1',
  '0o7',
  '07',
  '010',
  '0x1F',
  '0b101',
  '1_000',
  '12:30',
  '1:2:3.4',
  '.inf',
  '-.INF',
  '.nan',
  'NaN',
  '2020-01-01',
  '2020-01-01T00:00:00Z',
  '2001-12-14 21:59:43.10 -5',
  '6.5.0',
  '1.2',
  '1.',
  'e5',
  '.',
  '..',
  '---',
  '...',
  '--- a\n--- b',
  'a: b',
  'a:',
  ': a',
  '# c',
  'a # c',
  'a\n# c',
  '- a',
  '[a',
  '{a}',
  '*a',
  '&a x',
  '!!str a',
  '%YAML 1.1',
  '|',
  '>',
  '|-',
  '@a',
  '`a',
  '"',
  "'",
  "it's",
  '\\',
  '\\n',
  '\t',
  'a\tb',
  '\ta',
  'a ',
  ' a',
  'a\n',
  '\na',
  '\n',
  '\n\n',
  'a\n\n',
  'a\n \nb',
  'a\n  b\n',
  '  a\nb',
  'a\r\nb',
  '\r',
  'a\u0085b',
  'a\u2028b',
  '\u2029',
  '\ufeff',
  'a\ufeffb',
  '\u007f',
  '\u0000',
  '\u001b[0m',
  '\ufffe',
  '\uffff',
  '😀',
  '👩‍👩‍👧',
  'é',
  'e\u0301',
  '\u202e',
  '__proto__',
  'constructor',
  'toString',
  '$value',
  '$optional',
  'x'.repeat(2000),
  `${'word '.repeat(60)}end`,
  'line\n'.repeat(30),
  'key: |\n  text\n',
  '\u00a0',
  '\u3000a',
  'a\u00a0',
);
const text = fc.oneof(
  { arbitrary: tricky, weight: 3 },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 30 }), weight: 1 },
  { arbitrary: fc.array(tricky, { maxLength: 4 }).map((parts) => parts.join('')), weight: 1 },
  { arbitrary: fc.array(tricky, { maxLength: 4 }).map((parts) => parts.join('\n')), weight: 1 },
);
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.constantFrom(1e21, 1e20, 2 ** 53, 5e-324, 1e-7),
    ),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  ),
})).value;
const values = fc.dictionary(text, json, { maxKeys: 6 });

describe('rendered text', () => {
  it('is read back as exactly the object, by YAML 1.2 and by YAML 1.1', () => {
    fc.assert(
      fc.property(values, (arbitrary) => {
        const rendered = renderIntent({ ...install, values: arbitrary }, target, { chart: inputs.chart! });
        expect(rendered.kind).toBe('apply');
        const object = rendered.kind === 'apply' ? rendered.object : {};
        const expected = parseExactJson(JSON.stringify(object));
        expect(read(rendered.text, '1.2')).toEqual(expected);
        expect(read(rendered.text, '1.1')).toEqual(expected);
        expect(rendered.text.endsWith('\n')).toBe(true);
        expect(rendered.text).toMatch(
          /^[\t\n\u0020-\u007e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]*$/u,
        );
      }),
      { numRuns: 1500 },
    );
  });

  it('is the same bytes for the same intent, whatever the order of its members', () => {
    fc.assert(
      fc.property(values, (arbitrary) => {
        const reversed = Object.fromEntries(Object.entries(arbitrary).reverse());
        const first = renderIntent({ ...install, values: arbitrary }, target, inputs).text;
        expect(renderIntent({ ...install, values: arbitrary }, target, inputs).text).toBe(first);
        expect(renderIntent({ ...install, values: reversed }, target, inputs).text).toBe(first);
      }),
      { numRuns: 200 },
    );
  });

  it('is taken by the operator as it was rendered', () => {
    fc.assert(
      fc.property(values, (arbitrary) => {
        const rendered = renderIntent({ ...install, values: arbitrary }, target, { chart: inputs.chart! });
        const parsed = parseManifest(rendered.text, 'apps/shop/podinfo.yaml');
        expect(parsed).toEqual({
          ok: true,
          // Not by JSON.parse, which reads some names of one escaped character wrong (see parseExactJson).
          object: parseExactJson(JSON.stringify(rendered.kind === 'apply' && rendered.object)),
        });
      }),
      { numRuns: 500 },
    );
  });

  it('cannot be made to leave its place by any name or identity either', () => {
    fc.assert(
      fc.property(text, text, text, (name, namespace, id) => {
        fc.pre(name !== '' && namespace !== '' && id !== '');
        const rendered = renderIntent({ ...install, name, namespace, id }, { ...target, clusterId: id }, inputs);
        expect(read(rendered.text, '1.2')).toMatchObject({
          metadata: { name, namespace, annotations: { 'app.service.io/intent-id': id } },
          spec: { catalogEntry: 'podinfo' },
        });
      }),
      { numRuns: 300 },
    );
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, '\ud800', 10n, () => 1])(
    'refuses %s, which JSON cannot hold',
    (value) => {
      expect(() => renderIntent({ ...install, values: { value } }, target, inputs)).toThrow(TypeError);
    },
  );
});
