import { describe, expect, it } from 'vitest';
import type { OperationTarget } from '../../src/operation-templates/built-in/built-in-template.ts';
import { definitionFaults } from '../../src/operation-templates/definition-faults.ts';
import { parameterFaults } from '../../src/operation-templates/parameter-faults.ts';
import { resolveTemplate } from '../../src/operation-templates/resolve-template.ts';
import type { OperationTemplateDefinition } from '../../src/protocol/operation-template.ts';

type Definition = Omit<OperationTemplateDefinition, 'name'>;

function faults(definition: Definition, given: Record<string, unknown>, target?: OperationTarget): unknown {
  const own = { name: 'own', ...definition };
  expect(definitionFaults(own)).toEqual([]);
  const resolved = resolveTemplate('own', [own]);
  if (resolved === undefined) throw new Error('not found');
  return parameterFaults(resolved, given, target);
}

const schema = (properties: Record<string, unknown>, rest: Record<string, unknown> = {}) => ({
  type: 'object',
  properties,
  ...rest,
});

describe('the parameters of a template of an admin', () => {
  const RUN = { template: 'run-job', parameters: { image: 'a:1', env: { LEVEL: { $optional: 'level' } } } };
  const properties = { level: { type: 'string' } };

  it('are those that it declares, where its schema says nothing of others', () => {
    expect(faults({ parameters: schema(properties), run: RUN }, { levle: 'x' })).toEqual([
      { path: '/parameters/levle', message: 'is not known; the known fields are level', allowed: ['level'] },
    ]);
    expect(
      faults({ parameters: schema(properties, { additionalProperties: true }), run: RUN }, { levle: 'x' }),
    ).toEqual([]);
    expect(faults({ run: { template: 'run-job', parameters: { image: 'a:1' } } }, { x: 1 })).toEqual([
      { path: '/parameters/x', message: 'is not known here', allowed: [] },
    ]);
  });

  it('are named where they stand in the request, not where they stand in what is run', () => {
    const scale: Definition = {
      parameters: schema({ n: { type: 'integer' }, workload: { type: 'string' } }, { required: ['n'] }),
      run: { template: 'scale', parameters: { name: { $optional: 'workload' }, replicas: { $value: 'n' } } },
    };
    expect(faults(scale, { n: -1, workload: 'UPPER' })).toMatchObject([
      { path: '/parameters/workload', message: expect.stringContaining('Name of the workload') },
      { path: '/parameters/n', message: 'must be from 0 to 10000' },
    ]);
    expect(faults(scale, { n: 1 })).toEqual([{ path: '/parameters/workload', message: 'is required, or a targetRef' }]);
    expect(faults(scale, { n: 1 }, { kind: 'DaemonSet', name: 'a' })).toEqual([
      {
        path: '/targetRef',
        message:
          'does not do for scale, which own runs: /kind a DaemonSet has one pod on each node and no number of replicas to set',
      },
    ]);
    const job: Definition = {
      parameters: schema({ words: { type: 'array', items: { type: 'string' } } }, { required: ['words'] }),
      run: {
        template: 'run-job',
        parameters: { image: 'a:1', args: { $value: 'words' }, command: { $value: 'words' } },
      },
    };
    expect(faults(job, { words: ['a', 'x'.repeat(5000)] })).toMatchObject([{ path: '/parameters/words/1' }]);
  });

  it('are not blamed for what the template has fixed', () => {
    expect(faults({ run: { template: 'rollout-restart' } }, {})).toEqual([
      {
        path: '/targetRef',
        message: 'does not do for rollout-restart, which own runs: /name is required, or a targetRef',
      },
    ]);
    const run = { template: 'rollout-restart', parameters: { name: 'web' } };
    expect(faults({ run }, {}, { kind: 'Deployment', name: 'web' })).toEqual([
      {
        path: '/targetRef',
        message:
          'does not do for rollout-restart, which own runs: /name names a target beside targetRef; give one of the two',
      },
    ]);
  });

  it('are told what would be taken, at most a thousand characters of it a fault', () => {
    const values = Array.from({ length: 100 }, (_, at) => `${'x'.repeat(100)}-${at}`);
    const parameters = schema(
      { words: { type: 'array', items: { type: 'string', enum: values } } },
      { required: ['words'] },
    );
    const run = { template: 'run-job', parameters: { image: 'a:1', args: { $value: 'words' } } };
    const found = faults({ parameters, run }, { words: Array.from({ length: 100 }, () => 'no') }) as unknown[];
    expect(found).toHaveLength(100);
    expect(found[0]).toEqual({
      path: '/parameters/words/0',
      message: `must be one of ${values.slice(0, 9).join(', ')} and 91 more`,
      allowed: values.slice(0, 9),
    });
  });
});

describe('a marker in what a template runs', () => {
  const definition = (type: unknown, parameters: Record<string, unknown>, template = 'run-job') => ({
    name: 'own',
    parameters: schema({ x: type }, { required: ['x'] }),
    run: { template, parameters },
  });
  const value = { $value: 'x' };

  it.for<[string, unknown, Record<string, unknown>, string, string]>([
    [
      'an item of a list',
      { type: 'integer' },
      { image: 'a', args: ['-n', value] },
      '/args/1',
      'takes string, and the parameter x is of type integer',
    ],
    [
      'a member of a mapping',
      { type: 'boolean' },
      { image: 'a', env: { A: value } },
      '/env/A',
      'takes string, and the parameter x is of type boolean',
    ],
    [
      'a whole list',
      { type: 'array', items: { type: 'integer' } },
      { image: 'a', args: value },
      '/args',
      'takes array of string, and the parameter x is of type array of integer',
    ],
    [
      'a whole mapping',
      { type: 'object', additionalProperties: { type: 'number' } },
      { image: 'a', env: value },
      '/env',
      'takes object of string, and the parameter x is of type object of number',
    ],
    [
      'what does not go with what is fixed',
      { type: 'string' },
      { cronJob: 'nightly', image: value },
      '/image',
      'does not go with cronJob, whose job is run as it is',
    ],
  ])('is refused as %s', ([, type, parameters, path, message]) => {
    expect(definitionFaults(definition(type, parameters))).toMatchObject([{ path: `/run/parameters${path}`, message }]);
  });

  it.for<[string, unknown, Record<string, unknown>, string]>([
    ['a list of what is not said', { type: 'array' }, { image: 'a', args: value }, 'run-job'],
    [
      'values of any kind',
      { type: 'integer' },
      { application: 'a', values: { a: { b: [value] } } },
      'release-rollback',
    ],
    ['a mapping', { type: 'object', properties: { A: { type: 'string' } } }, { image: 'a', env: value }, 'run-job'],
  ])('is taken as %s', ([, type, parameters, template]) => {
    expect(definitionFaults(definition(type, parameters, template))).toEqual([]);
  });
});
