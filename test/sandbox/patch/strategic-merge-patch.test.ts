import { expect, it } from 'vitest';
import { builtInStructure } from '../../../src/sandbox/built-in-structures.ts';
import { mergePatch } from '../../../src/sandbox/patch/merge-patch.ts';
import { strategicMergePatch } from '../../../src/sandbox/patch/strategic-merge-patch.ts';

const structure = builtInStructure('deployments.apps');

function deployment(containers: readonly unknown[]): unknown {
  return { spec: { template: { spec: { containers } } } };
}

it('merges containers by name and deletes the one it is told to', () => {
  const live = deployment([
    { name: 'a', image: '1', env: [{ name: 'X', value: '1' }] },
    { name: 'b', image: '1' },
  ]);
  const patch = deployment([
    { name: 'a', env: [{ name: 'Y', value: '2' }] },
    { name: 'b', $patch: 'delete' },
    { name: 'c', image: '3' },
  ]);
  expect(strategicMergePatch(structure, live, patch)).toEqual(
    deployment([
      {
        name: 'a',
        image: '1',
        env: [
          { name: 'X', value: '1' },
          { name: 'Y', value: '2' },
        ],
      },
      { name: 'c', image: '3' },
    ]),
  );
});

it('orders a merged list as $setElementOrder says', () => {
  const live = deployment([{ name: 'a' }, { name: 'b' }]);
  const patch = {
    spec: {
      template: {
        spec: {
          '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }],
          containers: [{ name: 'a', image: '2' }],
        },
      },
    },
  };
  expect(strategicMergePatch(structure, live, patch)).toEqual(deployment([{ name: 'b' }, { name: 'a', image: '2' }]));
});

it('unites and thins out sets, and replaces other lists', () => {
  const live = { metadata: { finalizers: ['a', 'b'] }, spec: { list: [1] } };
  const patch = { metadata: { finalizers: ['c'], '$deleteFromPrimitiveList/finalizers': ['a'] }, spec: { list: [2] } };
  expect(strategicMergePatch(structure, live, patch)).toEqual({
    metadata: { finalizers: ['b', 'c'] },
    spec: { list: [2] },
  });
});

it('replaces a map and keeps only what $retainKeys names', () => {
  const live = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: {} }, other: { a: 1 } } };
  const patch = { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' }, other: { $patch: 'replace', b: 2 } } };
  expect(strategicMergePatch(structure, live, patch)).toEqual({
    spec: { strategy: { type: 'Recreate' }, other: { b: 2 } },
  });
});

it('merges by RFC 7386', () => {
  const target = { title: 'Goodbye!', author: { given: 'John', family: 'Doe' }, tags: ['example', 'sample'] };
  const patch = { title: 'Hello!', phone: '+01', author: { family: null }, tags: ['example'] };
  expect(mergePatch(target, patch)).toEqual({
    title: 'Hello!',
    phone: '+01',
    author: { given: 'John' },
    tags: ['example'],
  });
  expect(mergePatch({}, { a: { b: null, c: 1 } })).toEqual({ a: { c: 1 } });
});
