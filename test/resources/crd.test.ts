import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { customResourceDefinition } from '../../src/resources/crd.ts';
import { RESOURCE_DEFINITIONS } from '../../src/resources/resource-definitions.ts';
import { structuralSchema, type JsonSchema, type StructuralSchema } from '../../src/resources/structural-schema.ts';

const script = fileURLToPath(new URL('../../scripts/generate-crds.ts', import.meta.url));
const crds = fileURLToPath(new URL('../../crds', import.meta.url));

/** What is generated, with paths from the folder, in order. */
function filesOf(directory: string): string[] {
  return ['', 'cel'].flatMap((folder) =>
    readdirSync(join(directory, folder))
      .filter((name) => name.endsWith('.yaml'))
      .toSorted()
      .map((name) => join(folder, name)),
  );
}

/** Every node of a structural schema, with the path that leads to it. */
function nodesOf(schema: StructuralSchema, path: string): [string, StructuralSchema][] {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, StructuralSchema>);
  const items = schema['items'] as StructuralSchema | undefined;
  const members = schema['additionalProperties'] as StructuralSchema | undefined;
  return [
    [path, schema],
    ...properties.flatMap(([name, member]) => nodesOf(member, `${path}.${name}`)),
    ...(items === undefined ? [] : nodesOf(items, `${path}[]`)),
    ...(members === undefined ? [] : nodesOf(members, `${path}.*`)),
  ];
}

function schemasOf(part: 'spec' | 'status'): [string, StructuralSchema][] {
  return RESOURCE_DEFINITIONS.flatMap((definition) =>
    nodesOf(structuralSchema(definition[part] as JsonSchema, part), `${definition.kind}.${part}`),
  );
}
const nodes = [...schemasOf('spec'), ...schemasOf('status')];

/** The places that keep whatever they are given. */
const FREE_FORM = [
  'ApplicationInstance.spec.values',
  'Operation.spec.parameters',
  'Operation.status.run.parameters',
  'Cluster.status.operationTemplateDefinitions[].parameters',
  'Cluster.status.operationTemplateDefinitions[].run.parameters',
];

describe('custom resource definitions', () => {
  it('describe every field', () => {
    expect(nodes.filter(([, node]) => !node['description']).map(([path]) => path)).toEqual([]);
  });

  it.each([
    ['ApplicationInstance', 'Status', 'Reconciling'],
    ['Cluster', 'Reason', 'Synced'],
  ])('show in the listing of %s a column %s, where a pause says so', (kind, name, type) => {
    const columns = RESOURCE_DEFINITIONS.find((definition) => definition.kind === kind)?.columns ?? [];
    const jsonPath = `.status.conditions[?(@.type=="${type}")].reason`;
    expect(columns.filter((column) => column.name === name)).toEqual([{ name, type: 'string', jsonPath }]);
  });

  it('say of a field more than its name does, as a sentence and with nothing left open', () => {
    const poor = nodes.flatMap(([path, node]) => {
      const name =
        path
          .replace(/\[\]|\.\*/g, '')
          .split('.')
          .at(-1) ?? '';
      const text = (node['description'] ?? '') as string;
      const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
      const own = new Set([
        ...name.split(/(?=[A-Z])/).map((word) => word.toLowerCase()),
        'a',
        'an',
        'the',
        'of',
        'its',
      ]);
      const isItem = path.endsWith('[]');
      const isPoor =
        text.length < (isItem ? 10 : 20) ||
        !text.endsWith('.') ||
        !/^[A-Z]/.test(text) ||
        words.filter((word) => !own.has(word) && !own.has(word.replace(/s$/, ''))).length < (isItem ? 1 : 2);
      return isPoor ? [`${path}: ${text}`] : [];
    });
    expect(poor).toEqual([]);
  });

  it('bound every text, list and map, but for chart values, parameters and their schemas, which the size of what brings them bounds', () => {
    const unbounded = nodes.flatMap(([path, node]) => {
      const isBounded =
        (node['type'] !== 'string' || node['enum'] !== undefined || node['maxLength'] !== undefined) &&
        (node['type'] !== 'array' || node['maxItems'] !== undefined) &&
        (node['type'] !== 'object' || node['properties'] !== undefined || node['maxProperties'] !== undefined);
      return isBounded ? [] : [path];
    });
    expect(unbounded).toEqual(FREE_FORM);
  });

  it('set no default: the server would write it into the spec, which would no longer be the one that was signed', () => {
    expect(nodes.filter(([, node]) => 'default' in node).map(([path]) => path)).toEqual([]);
  });

  it('say the type of every node that does not keep whatever it is given', () => {
    const untyped = nodes.filter(([, node]) => !node['type'] && !node['x-kubernetes-preserve-unknown-fields']);
    expect(untyped).toEqual([]);
  });

  it('hold no keyword that the API server refuses', () => {
    const allowed = new Set(
      (
        'description type enum format pattern minLength maxLength minimum maximum minItems maxItems required properties items ' +
        'additionalProperties x-kubernetes-preserve-unknown-fields x-kubernetes-list-type x-kubernetes-list-map-keys'
      ).split(' '),
    );
    const refused = nodes.flatMap(([path, node]) =>
      Object.keys(node)
        .filter((keyword) => !allowed.has(keyword))
        .map((keyword) => `${path} ${keyword}`),
    );
    expect(refused).toEqual([]);
    const both = nodes.filter(([, node]) => 'properties' in node && 'additionalProperties' in node);
    expect(both).toEqual([]);
  });

  it('hold only patterns that Go can read: no look-around, no back-reference', () => {
    const patterns = nodes.flatMap(([, node]) => (typeof node['pattern'] === 'string' ? [node['pattern']] : []));
    expect(patterns.filter((pattern) => /\(\?[=!<]|\\[1-9ukKcGZ]/.test(pattern))).toEqual([]);
  });

  it('merge conditions by type and take every other list as a whole', () => {
    const lists = nodes.filter(([, node]) => node['type'] === 'array');
    const maps = lists.filter(([, node]) => node['x-kubernetes-list-type'] === 'map');
    expect(maps.map(([path, node]) => [path, node['x-kubernetes-list-map-keys']])).toEqual([
      ['ApplicationInstance.status.conditions', ['type']],
      ['Operation.status.conditions', ['type']],
      ['Cluster.status.conditions', ['type']],
    ]);
    for (const [, node] of maps) expect((node['items'] as StructuralSchema)['required']).toContain('type');
    expect(lists.filter(([, node]) => !node['x-kubernetes-list-type'])).toEqual([]);
  });

  it('keep chart values, parameters and their schemas as they are given', () => {
    const kept = nodes
      .filter(([, node]) => node['x-kubernetes-preserve-unknown-fields'] === true)
      .map(([path]) => path);
    expect(kept).toEqual(FREE_FORM);
  });

  it('name kinds, scope, columns and the status subresource', () => {
    const [definition] = RESOURCE_DEFINITIONS;
    const categories = RESOURCE_DEFINITIONS.flatMap((each) => each.categories);
    expect(categories, '`kubectl delete all --all` must not mean these').toEqual(['service', 'service', 'service']);
    expect(customResourceDefinition(definition!)).toMatchObject({
      apiVersion: 'apiextensions.k8s.io/v1',
      metadata: { name: 'applicationinstances.apps.service.io' },
      spec: {
        scope: 'Namespaced',
        names: { kind: 'ApplicationInstance', listKind: 'ApplicationInstanceList', categories: ['service'] },
        versions: [{ name: 'v1alpha1', served: true, storage: true, subresources: { status: {} } }],
      },
    });
  });
});

describe('structuralSchema', () => {
  it('turns a literal into an enum and a map of texts into additionalProperties', () => {
    const schema = Type.Object({ a: Type.Literal('x'), b: Type.Record(Type.String(), Type.String()) });
    expect(structuralSchema(schema as unknown as JsonSchema, 'spec')).toEqual({
      type: 'object',
      required: ['a', 'b'],
      properties: {
        a: { type: 'string', enum: ['x'] },
        b: { type: 'object', additionalProperties: { type: 'string' } },
      },
    });
  });

  it('does not lose a keyword that it cannot write', () => {
    const schema = Type.Object({ a: Type.Union([Type.String(), Type.Integer()]) }) as unknown as JsonSchema;
    expect(() => structuralSchema(schema, 'spec')).toThrow('a: the keyword anyOf has no form in a structural schema');
  });
});

describe('generate-crds', () => {
  function check(directory: string) {
    const { status, stderr } = spawnSync(process.execPath, [script, '--check', '--directory', directory], {
      encoding: 'utf8',
    });
    return { status, lines: stderr.trim().split('\n') };
  }

  it('writes what is checked in, and nothing more the second time', () => {
    const directory = mkdtempSync(join(tmpdir(), 'crds-'));
    try {
      execFileSync(process.execPath, [script, '--directory', directory]);
      expect(filesOf(directory)).toEqual(filesOf(crds));
      const texts = filesOf(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
      expect(texts).toEqual(filesOf(crds).map((name) => readFileSync(join(crds, name), 'utf8')));
      expect(texts.map((text) => (parse(text) as { kind: string }).kind)).toEqual(
        texts.map(() => 'CustomResourceDefinition'),
      );
      expect(execFileSync(process.execPath, [script, '--directory', directory], { encoding: 'utf8' })).toBe(
        'crds/ is up to date\n',
      );
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('names file and line of a drift, a missing file, and one that belongs to nothing', () => {
    const directory = mkdtempSync(join(tmpdir(), 'crds-'));
    try {
      mkdirSync(join(directory, 'cel'));
      for (const name of filesOf(crds)) copyFileSync(join(crds, name), join(directory, name));
      const [changed, missing] = filesOf(directory);
      const path = join(directory, changed!);
      writeFileSync(path, readFileSync(path, 'utf8').replace('scope: Namespaced', 'scope: Cluster'));
      rmSync(join(directory, missing!));
      appendFileSync(join(directory, 'zz.yaml'), 'a: 1\n');
      const { status, lines } = check(directory);
      expect(status).toBe(1);
      expect(lines).toEqual([
        `crds/${changed}:17: has '  scope: Cluster', generated is '  scope: Namespaced'`,
        `crds/${missing}: missing`,
        'crds/zz.yaml: belongs to no definition',
        'Run `npm run generate` and commit crds/.',
      ]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
