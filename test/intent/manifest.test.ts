import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseManifest, parseTombstone } from '../../src/intent/manifest.ts';
import { MAX_MANIFEST_BYTES } from '../../src/intent/rendered.ts';

const KEY = 'apps/shop/podinfo.yaml';
const good = `apiVersion: apps.service.io/v1alpha1
kind: ApplicationInstance
metadata:
  name: podinfo
  namespace: shop
spec:
  catalogEntry: podinfo
  chart:
    type: oci
    url: oci://host/podinfo
    name: podinfo
    version: 6.5.0
  values:
    replicaCount: 2
`;
const TAKEN = 'apps.service.io/v1alpha1/ApplicationInstance, ops.service.io/v1alpha1/Operation';

describe('parseManifest', () => {
  it('reads an ApplicationInstance', () => {
    const parsed = parseManifest(good, KEY);
    expect(parsed).toMatchObject({ ok: true, object: { spec: { values: { replicaCount: 2 } } } });
  });

  it('reads an Operation', () => {
    const text =
      'apiVersion: ops.service.io/v1alpha1\nkind: Operation\nmetadata: {name: a, namespace: b}\nspec: {template: scale}\n';
    expect(parseManifest(text, 'operations/b/a.yaml')).toEqual({
      ok: true,
      object: {
        apiVersion: 'ops.service.io/v1alpha1',
        kind: 'Operation',
        metadata: { name: 'a', namespace: 'b' },
        spec: { template: 'scale' },
      },
    });
  });

  it('takes what a person writes: comments, anchors, flow style', () => {
    const text = good.replace('    replicaCount: 2', '    a: &x {b: 1} # why\n    c: *x');
    expect(parseManifest(text, KEY)).toMatchObject({
      ok: true,
      object: { spec: { values: { a: { b: 1 }, c: { b: 1 } } } },
    });
  });

  it.each([
    ['nothing', '', 'ManifestInvalid', 'the file is empty'],
    ['only a comment', '# gone\n', 'ManifestInvalid', 'the file is empty'],
    ['text', 'hello', 'ManifestInvalid', 'a manifest is expected: a mapping with apiVersion, kind, metadata and spec'],
    [
      'a list',
      '- a\n',
      'ManifestInvalid',
      'a manifest is expected: a mapping with apiVersion, kind, metadata and spec',
    ],
    ['no kind', 'apiVersion: v1\n', 'ManifestInvalid', '/apiVersion and /kind are required, each a string'],
    ['another kind', 'apiVersion: v1\nkind: Secret\n', 'ManifestRefused', `v1/Secret is not taken; allowed: ${TAKEN}`],
    [
      'a Cluster',
      'apiVersion: ops.service.io/v1alpha1\nkind: Cluster\n',
      'ManifestRefused',
      `ops.service.io/v1alpha1/Cluster is not taken; allowed: ${TAKEN}`,
    ],
    [
      'a name of every object',
      'apiVersion: a\nkind: toString\n',
      'ManifestRefused',
      `a/toString is not taken; allowed: ${TAKEN}`,
    ],
    [
      'a second document',
      `${good}---\n${good}`,
      'ManifestInvalid',
      'the file holds a second document near line 15; one manifest a file',
    ],
    ['broken YAML', good.replace('spec:', 'spec'), 'ManifestInvalid', /^Implicit .*\(line \d+, column \d+\)$/],
    [
      'a duplicate key',
      good.replace('  values:', '  catalogEntry: x\n  values:'),
      'ManifestInvalid',
      'a member is there twice: "catalogEntry" (line 13, column 3)',
    ],
    [
      'an unknown tag',
      good.replace('replicaCount: 2', 'a: !secret x'),
      'ManifestInvalid',
      'Unresolved tag: !secret (line 14, column 8)',
    ],
    ['an unknown alias', good.replace('replicaCount: 2', 'a: *nowhere'), 'ManifestInvalid', /nowhere/],
    [
      'a wrong type',
      good.replace('version: 6.5.0', 'version: 6.5'),
      'ManifestInvalid',
      '/spec/chart/version: must be a string',
    ],
    [
      'a missing field',
      good.replace('    name: podinfo\n    version', '    version'),
      'ManifestInvalid',
      '/spec/chart/name: is required',
    ],
    [
      'a misspelt field',
      good.replace('  values:', '  value:'),
      'ManifestInvalid',
      /^\/spec\/value: is not known; the known fields are catalogEntry, chart, /,
    ],
    [
      'values that are not an object',
      good.replace(/values:\n.*/, 'values: 3'),
      'ManifestInvalid',
      '/spec/values: must be an object',
    ],
    ['a range for a version', good.replace('6.5.0', '">=6"'), 'ManifestInvalid', /^\/spec\/chart\/version: must match/],
    [
      'a path for a name',
      good.replace('name: podinfo\n  namespace', 'name: ../x\n  namespace'),
      'ManifestInvalid',
      /^\/metadata\/name: must be a name: /,
    ],
    ['no namespace', good.replace('  namespace: shop\n', ''), 'ManifestInvalid', '/metadata/namespace: is required'],
    [
      'server-made metadata',
      good.replace('  namespace', '  uid: x\n  namespace'),
      'ManifestInvalid',
      '/metadata/uid: is not known; the known fields are name, namespace, labels, annotations',
    ],
    [
      'a status',
      `${good}status: {}\n`,
      'ManifestInvalid',
      '/status: is not known; the known fields are apiVersion, kind, metadata, spec',
    ],
    [
      'a label that is not text',
      good.replace('  namespace', '  labels: {a: 1}\n  namespace'),
      'ManifestInvalid',
      '/metadata/labels/a: must be a string',
    ],
    [
      'an infinity',
      good.replace('replicaCount: 2', 'a: .inf'),
      'ManifestInvalid',
      '/spec/values/a: is not a finite number; put it in quotes',
    ],
    [
      'an integer that a double rounds',
      good.replace('replicaCount: 2', 'a: [12345678901234567890]'),
      'ManifestInvalid',
      '/spec/values/a/0: is an integer beyond ±(2^53−1); put it in quotes',
    ],
    [
      'a date by directive',
      `%YAML 1.1\n---\n${good.replace('replicaCount: 2', 'a: 2020-01-01')}`,
      'ManifestInvalid',
      '/spec/values/a: is a kind of value that JSON does not have; put it in quotes',
    ],
    [
      'a mapping for a name',
      good.replace('replicaCount: 2', '{a: 1}: x'),
      'ManifestInvalid',
      'a member has a mapping or list for a name (line 14, column 5)',
    ],
  ] as const)('names file and place of %s', (_name, text, reason, message) => {
    const parsed = parseManifest(text, KEY);
    expect(parsed).toMatchObject({ ok: false, reason });
    const said = parsed.ok ? '' : parsed.message;
    expect(said.startsWith(`${KEY}: `)).toBe(true);
    expect(said.slice(KEY.length + 2)).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  it('refuses a file that is too large', () => {
    const parsed = parseManifest(`${good}# ${'x'.repeat(MAX_MANIFEST_BYTES)}`, KEY);
    expect(parsed).toMatchObject({ ok: false, reason: 'ManifestInvalid' });
    expect(!parsed.ok && parsed.message).toMatch(/the file is \d+ bytes; at most 524288 bytes \(512 KiB\) are taken$/);
  });

  it('stops an alias bomb', () => {
    const levels = Array.from({ length: 20 }, (_, n) => `    a${n + 1}: &a${n + 1} [*a${n}, *a${n}, *a${n}, *a${n}]`);
    const text = good.replace('    replicaCount: 2', ['    a0: &a0 x', ...levels].join('\n'));
    const started = performance.now();
    expect(parseManifest(text, KEY)).toMatchObject({ ok: false, reason: 'ManifestInvalid' });
    expect(performance.now() - started).toBeLessThan(2000);
  });

  it.each([
    ['flow lists', '['.repeat(100_000)],
    ['flow maps', '{a: '.repeat(50_000)],
    ['block lists', '- '.repeat(50_000)],
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
  ])('survives deep nesting: %s', (_name, nest) => {
    const started = performance.now();
    expect(parseManifest(good.replace('replicaCount: 2', `a: ${nest}`), KEY)).toMatchObject({ ok: false });
    expect(parseManifest(nest, KEY)).toMatchObject({ ok: false, reason: 'ManifestInvalid' });
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it.each([
    ['members', Array.from({ length: 45_000 }, (_, n) => `    k${n}: 1`)],
    ['aliases for names', ['    ? &a k', ...Array.from({ length: 40_000 }, () => '    ? *a')]],
  ])('reads a file of so many %s in time that grows with its size', (_name, lines) => {
    const text = good.replace('    replicaCount: 2', lines.join('\n'));
    expect(text.length).toBeGreaterThan(MAX_MANIFEST_BYTES * 0.6);
    const started = performance.now();
    parseManifest(text, KEY);
    // Compared each with all before it, half a megabyte takes half a minute.
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('keeps a __proto__ member as a member', () => {
    const parsed = parseManifest(good.replace('replicaCount: 2', '__proto__: {admin: true}'), KEY);
    expect(parsed.ok && JSON.stringify(parsed.object.spec)).toContain('"values":{"__proto__":{"admin":true}}');
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
  });

  it('never throws, whatever a person wrote', () => {
    const lines = good.split('\n');
    const piece = fc.oneof(
      fc.constantFrom(...lines, '---', '...', '%YAML 1.1', '&a', '*a', '!!binary x', '? ', ': ', '  ', '- ', '"', '|'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const parsed = parseManifest(pieces.join('\n'), KEY);
        expect(parsed.ok || parsed.message.startsWith(`${KEY}: `)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('parseTombstone', () => {
  const tombstone = {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name: 'podinfo',
    intentId: 'int-1',
    epoch: 1,
    generation: 2,
    time: '2026-11-28T00:00:00Z',
  };
  const key = 'tombstones/shop/podinfo.json';

  it('reads what it names', () => {
    expect(parseTombstone(JSON.stringify(tombstone), key)).toEqual({ ok: true, tombstone });
  });

  it.each([
    ['no JSON', 'apiVersion: x', 'ManifestInvalid', /a value is expected \(line 1, column 1/],
    [
      'a missing field',
      JSON.stringify({ ...tombstone, intentId: undefined }),
      'ManifestInvalid',
      /\/intentId: is required/,
    ],
    ['generation 0', JSON.stringify({ ...tombstone, generation: 0 }), 'ManifestInvalid', /\/generation: must be >= 1/],
    ['a path for a name', JSON.stringify({ ...tombstone, name: '../x' }), 'ManifestInvalid', /\/name: must be a name/],
    ['another kind', JSON.stringify({ ...tombstone, kind: 'Namespace' }), 'ManifestRefused', /Namespace is not taken/],
    ['a duplicate key', '{"kind":"a","kind":"b"}', 'ManifestInvalid', /duplicate member name/],
  ])('refuses %s', (_name, text, reason, message) => {
    expect(parseTombstone(text, key)).toEqual({ ok: false, reason, message: expect.stringMatching(message) });
  });
});
