import { expect, it } from 'vitest';
import { parametersAreInvalid } from '../../src/policy/parameters-are-invalid.ts';
import type { OperationTemplateDefinition } from '../../src/protocol/operation-template.ts';
import { aPolicy } from '../reconcile/manifests.ts';

const twice: OperationTemplateDefinition = {
  name: 'twice',
  parameters: {
    type: 'object',
    properties: { list: { type: 'array', items: { type: 'string' } } },
    required: ['list'],
    additionalProperties: false,
  },
  run: { template: 'run-job', parameters: { image: 'busybox', command: { $value: 'list' }, args: { $value: 'list' } } },
};

function saidOf(template: string, parameters: Record<string, unknown>): readonly string[] {
  const policy = aPolicy({ templateDefinitions: [twice] });
  return parametersAreInvalid({ spec: { template, parameters } }, { policy }).map(({ message }) => message);
}

it('takes no parameters that the status does not hold besides the spec', () => {
  expect(saidOf('run-job', { image: 'busybox', command: ['x'.repeat(552_000)] })).toEqual([
    expect.stringMatching(/^\/parameters are 5520\d\d bytes; at most 262144 are taken: .*ConfigMap/),
  ]);
  expect(saidOf('twice', { list: ['x'] })).toEqual([]);
  expect(saidOf('twice', { list: Array.from({ length: 40 }, () => 'x'.repeat(4000)) })).toEqual([
    expect.stringMatching(/^\/parameters make 3202\d\d bytes for what the template runs; at most 262144/),
  ]);
});
