import { describe, expect, it } from 'vitest';
import { BUILT_IN_TEMPLATES } from '../../src/operation-templates/built-in-templates.ts';
import { definitionFaults } from '../../src/operation-templates/definition-faults.ts';
import { definitionHash } from '../../src/operation-templates/definition-hash.ts';
import { parameterFaults } from '../../src/operation-templates/parameter-faults.ts';
import { builtInParameters, resolveTemplate } from '../../src/operation-templates/resolve-template.ts';
import type { OperationTemplateDefinition } from '../../src/protocol/operation-template.ts';

const MIGRATE: OperationTemplateDefinition = {
  name: 'migrate-database',
  description: 'Migrates the database of the shop.',
  parameters: {
    type: 'object',
    properties: {
      target: { type: 'string', maxLength: 20 },
      verbose: { type: 'string', enum: ['yes', 'no'], default: 'no' },
      args: { type: 'array', items: { type: 'string' } },
    },
    required: ['target'],
    additionalProperties: false,
  },
  run: {
    template: 'run-job',
    parameters: {
      image: 'registry.example.com/shop/migrate:7',
      env: { TARGET: { $value: 'target' }, VERBOSE: { $value: 'verbose' } },
      args: { $optional: 'args' },
    },
  },
  deadlineSeconds: 600,
  retries: 2,
};

const run = (parameters: Record<string, unknown>, template = 'run-job') => ({ run: { template, parameters } });
const takes = (properties: Record<string, unknown>, required: string[] = []) => ({
  parameters: { type: 'object', properties, required },
});

describe('an operation template of an admin', () => {
  it('is taken where all of it fits together', () => {
    expect(definitionFaults(MIGRATE)).toEqual([]);
  });

  it.for(Object.keys(BUILT_IN_TEMPLATES))('may have settings under the name of the built-in %s', (name) => {
    expect(definitionFaults({ name, description: 'x', deadlineSeconds: 60 })).toEqual([]);
    const other = definitionFaults({ name, run: { template: 'run-job' }, parameters: { type: 'object' } });
    expect(other.map(({ path }) => path)).toEqual(['/run', '/parameters']);
  });

  it.for<[string, Partial<OperationTemplateDefinition>, string, string]>([
    ['says nothing of what runs', takes({}), '/run', 'velero-backup'],
    ['runs what is not built in', run({}, 'migrate-database'), '/run/template', 'velero-backup'],
    ['runs what every object has', run({}, 'constructor'), '/run/template', 'velero-backup'],
    ['retries what is not retried', { ...run({ name: 'a' }, 'rollout-restart'), retries: 1 }, '/retries', 'must be 0'],
    ['names an undeclared parameter', run({ image: { $value: 'x' } }), '/run/parameters/image', 'declared: none'],
    [
      'takes for given what may be left out',
      { ...takes({ x: { type: 'string' } }), ...run({ image: { $value: 'x' } }) },
      '/run/parameters/image',
      'use $optional',
    ],
    [
      'leaves out what is required',
      { ...takes({ x: { type: 'string' } }), ...run({ backup: { $optional: 'x' } }, 'velero-restore') },
      '/run/parameters/backup',
      'is required',
    ],
    [
      'gives a parameter of another type',
      { ...takes({ x: { type: 'string' } }, ['x']), ...run({ name: 'a', replicas: { $value: 'x' } }, 'scale') },
      '/run/parameters/replicas',
      'takes integer',
    ],
    [
      'has more beside a marker',
      { ...takes({ x: { type: 'string' } }, ['x']), ...run({ image: { $value: 'x', a: 1 } }) },
      '/run/parameters/image/$value',
      'stands alone',
    ],
    [
      'leaves out an item of a list',
      { ...takes({ x: { type: 'string' } }), ...run({ image: 'a', args: [{ $optional: 'x' }] }) },
      '/run/parameters/args/0/$optional',
      'an item of a list takes $value',
    ],
    [
      'is one marker',
      { ...takes({ x: { type: 'object' } }, ['x']), ...run({ $value: 'x' }) },
      '/run/parameters/$value',
      'name which',
    ],
    [
      'gives a fixed value that does not fit',
      run({ name: 'a', replicas: -1 }, 'scale'),
      '/run/parameters/replicas',
      'from 0 to',
    ],
    ['gives what is not known', run({ image: 'a', imag: 'b' }), '/run/parameters/imag', 'is not known'],
    [
      'gives an unknown one by a marker',
      { ...takes({ x: { type: 'string' } }, ['x']), ...run({ image: 'a', imag: { $value: 'x' } }) },
      '/run/parameters/imag',
      'is not known',
    ],
    ['lacks a required one', run({}, 'velero-restore'), '/run/parameters/backup', 'is required'],
    ['can never have what it needs', run({ args: ['a'] }), '/run/parameters/image', 'is required, or a cronJob'],
    [
      'declares what nothing uses',
      { ...takes({ x: { type: 'string' } }), ...run({ image: 'a' }) },
      '/parameters/properties/x',
      'used nowhere',
    ],
    [
      'has a schema with a pattern',
      { ...takes({ x: { type: 'string', pattern: 'a' } }), ...run({ image: 'a' }) },
      '/parameters/properties/x/pattern',
      'is not in the part',
    ],
  ])('is refused when it %s', ([, rest, path, message]) => {
    expect(definitionFaults({ name: 'own', ...rest })).toMatchObject([
      { path, message: expect.stringContaining(message) },
    ]);
  });

  it('may leave the target to the operation', () => {
    expect(definitionFaults({ name: 'restart', ...run({}, 'rollout-restart') })).toEqual([]);
  });

  it('fills in defaults, and judges parameters by its own schema first', () => {
    const resolved = resolveTemplate('migrate-database', [MIGRATE]);
    if (resolved === undefined) throw new Error('not found');
    expect(resolved).toMatchObject({ runs: 'run-job', deadlineSeconds: 600, retries: 2 });
    expect(parameterFaults(resolved, { target: 'v7' }, undefined)).toEqual([]);
    expect(builtInParameters(resolved, { target: 'v7' })).toEqual({
      image: 'registry.example.com/shop/migrate:7',
      env: { TARGET: 'v7', VERBOSE: 'no' },
    });
    const faults = parameterFaults(resolved, { verbose: 'maybe', arg: [] }, undefined);
    expect(faults.map(({ path }) => path).toSorted()).toEqual([
      '/parameters/arg',
      '/parameters/target',
      '/parameters/verbose',
    ]);
  });

  it('has a hash of what it does, and none of how long it may take', () => {
    const hash = definitionHash(MIGRATE);
    expect(hash).toMatch(/^sha256-[\w-]{43}$/);
    expect(definitionHash({ ...MIGRATE, description: 'other', deadlineSeconds: 1, retries: 0 })).toBe(hash);
    expect(definitionHash({ ...MIGRATE, ...run({ image: 'evil' }) })).not.toBe(hash);
    expect(definitionHash({ name: 'scale', deadlineSeconds: 5 })).toBeUndefined();
  });
});
