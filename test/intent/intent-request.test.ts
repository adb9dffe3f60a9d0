import { describe, expect, it } from 'vitest';
import { intentIdempotencyKey } from '../../src/intent/intent-key.ts';
import type { IntentRecord } from '../../src/intent/intent-record.ts';
import { parseIntentRequest } from '../../src/intent/intent-request.ts';
import { mergeValues } from '../../src/intent/merge-values.ts';
import { BUILT_IN_TEMPLATES, isBuiltInTemplate } from '../../src/operation-templates/built-in-templates.ts';
import { AppError } from '../../src/protocol/app-error.ts';

const install = {
  action: 'install',
  namespace: 'shop',
  name: 'podinfo',
  catalogEntry: 'podinfo',
  chartVersion: '6.5.0',
};

function faultsOf(body: unknown): [string, string][] {
  try {
    parseIntentRequest(body);
  } catch (error) {
    if (error instanceof AppError && error.code === 'constraint_violated') {
      return error.faults.map(({ path, message }) => [path, message]);
    }
    throw error;
  }
  return [];
}

describe('parseIntentRequest', () => {
  it('takes a whole intent', () => {
    const body = { ...install, values: { a: { b: [1, null] } }, reason: 'Größe, 50 % more — see #12' };
    expect(parseIntentRequest(body)).toBe(body);
  });

  it.each([
    ['a path for a name', { name: '../x' }, '/name', /^must be a name: lower-case letters/],
    ['a path for a namespace', { namespace: 'shop/../x' }, '/namespace', /^must be a namespace: /],
    ['a name over 53 characters', { name: 'a'.repeat(54) }, '/name', /53/],
    ['a name with a NUL', { name: 'a\u0000' }, '/name', /^must be a name/],
    ['another action', { action: 'destroy' }, '/action', /^must be one of install, update, uninstall, operate$/],
    ['a version range', { chartVersion: '^6.5.0' }, '/chartVersion', /^must be a semantic version such as 6.5.0/],
    ['values that are a list', { values: [] }, '/values', /^must be an object$/],
    ['values that are text', { values: 'a: 1' }, '/values', /^must be an object$/],
    ['values that are null', { values: null }, '/values', /^must be an object$/],
    ['a reason over 1,000 characters', { reason: 'x'.repeat(1001) }, '/reason', /^must be one paragraph of 1 to 1000/],
    ['a reason of many combining marks', { reason: `a${'\u0301'.repeat(1000)}` }, '/reason', /^must be one paragraph/],
    ['a reason with a line break', { reason: 'a\nIntent-Id: forged' }, '/reason', /^must be one paragraph/],
    ['a reason with an escape sequence', { reason: '\u001b[2J' }, '/reason', /^must be one paragraph/],
    ['a reason with a direction override', { reason: 'a\u202eb' }, '/reason', /^must be one paragraph/],
    [
      'an unknown field',
      { namespce: 'x' },
      '/namespce',
      /^is not known; the known fields are action, namespace, name, /,
    ],
    ['secret values that are not an object', { secretValues: 'hunter2' }, '/secretValues', /^must be an object$/],
    ['__proto__', JSON.parse('{"__proto__":{"a":1}}'), '/__proto__', /^is not known/],
  ] as const)('refuses %s with its path and what is allowed', (_name, change, path, message) => {
    const body = Object.defineProperties({ ...install }, Object.getOwnPropertyDescriptors(change as object));
    const faults = faultsOf(body);
    expect(faults.map(([at]) => at)).toContain(path);
    expect(faults.find(([at]) => at === path)?.[1]).toMatch(message);
  });

  it('lists all faults of a body at once', () => {
    expect(
      faultsOf({ action: 'x', values: 1, extra: true })
        .map(([path]) => path)
        .toSorted(),
    ).toEqual(['/action', '/extra', '/name', '/namespace', '/values']);
  });
});

describe('intentIdempotencyKey', () => {
  const record: IntentRecord = {
    intentVersion: 'v1alpha1',
    id: 'int-1',
    action: 'install',
    namespace: 'shop',
    name: 'podinfo',
    generation: 1,
    values: { b: 1, a: 2 },
    requestedBy: 'x',
    requestedAt: '2026-11-28T00:00:00Z',
    reason: 'y',
  };

  it('is stable: who, when, why and the id do not count, nor the order of members', () => {
    const key = intentIdempotencyKey(record);
    // Worked out by hand with sha256sum over the canonical text.
    expect(key).toBe('intent/sha256-zHtC4R0KTEHwYkF6yFV1mxsjdbIAFFyuT0nlqUAjFcs');
    const again = {
      ...record,
      id: 'int-2',
      requestedBy: 'z',
      requestedAt: 'later',
      reason: 'other',
      values: { a: 2, b: 1 },
    };
    expect(intentIdempotencyKey(again)).toBe(key);
    const { reason: _reason, ...without } = record;
    expect(intentIdempotencyKey(without)).toBe(key);
  });

  it.each([{ generation: 2 }, { name: 'other' }, { action: 'update' as const }, { values: { a: 2 } }])(
    'changes with %j',
    (change) => {
      expect(intentIdempotencyKey({ ...record, ...change })).not.toBe(intentIdempotencyKey(record));
    },
  );
});

describe('mergeValues', () => {
  it('merges objects, replaces everything else, and keeps null for Helm', () => {
    const base = { a: { x: 1, y: { z: 1 } }, list: [1, 2], gone: 1, text: 'a' };
    const over = { a: { y: { w: 2 } }, list: [3], gone: null, text: { now: 'object' } };
    expect(mergeValues(base, over)).toEqual({
      a: { x: 1, y: { z: 1, w: 2 } },
      list: [3],
      gone: null,
      text: { now: 'object' },
    });
    expect(base).toEqual({ a: { x: 1, y: { z: 1 } }, list: [1, 2], gone: 1, text: 'a' });
  });

  it('does not pollute prototypes', () => {
    const merged = mergeValues(
      JSON.parse('{"__proto__":{"a":1}}'),
      JSON.parse('{"__proto__":{"b":2},"constructor":{}}'),
    );
    expect(JSON.stringify(merged)).toBe('{"__proto__":{"a":1,"b":2},"constructor":{}}');
    expect(({} as Record<string, unknown>)['b']).toBeUndefined();
  });
});

describe('operation templates', () => {
  it('are the seven that every operator has', () => {
    expect(Object.keys(BUILT_IN_TEMPLATES)).toEqual([
      'velero-backup',
      'velero-restore',
      'rollout-restart',
      'scale',
      'release-rollback',
      'release-reconcile',
      'run-job',
    ]);
    expect(isBuiltInTemplate('scale')).toBe(true);
    expect(isBuiltInTemplate('toString')).toBe(false);
  });
});
