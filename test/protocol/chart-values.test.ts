import { expect, it } from 'vitest';
import { holdsChartValues } from '../../src/protocol/chart-values.ts';

it.each([
  ['an apply with values', 'apply', { spec: { values: { a: 1 } } }, true],
  ['an operation with parameters', 'apply', { spec: { template: 'scale', parameters: { replicas: 2 } } }, true],
  ['an intent with values', 'intent', { values: { a: 1 } }, true],
  ['an intent with parameters', 'intent', { parameters: { replicas: 2 } }, true],
  ['an apply without values', 'apply', { spec: { catalogEntry: 'podinfo' } }, false],
  ['an apply with empty values', 'apply', { spec: { values: {} } }, false],
  ['an apply with sealed values alone', 'apply', { spec: { sealedValues: 'a.b.c.d.e' } }, false],
  ['an apply without a spec', 'apply', {}, false],
  ['a delete', 'delete', { values: { a: 1 } }, false],
] as const)('%s: chart values in the clear', (_, kind, payload, expected) => {
  expect(holdsChartValues(kind, payload)).toBe(expected);
});
