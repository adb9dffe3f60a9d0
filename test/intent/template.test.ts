import { describe, expect, it } from 'vitest';
import { fill, loadTemplate, type Template } from '../../src/intent/template.ts';

function template(skeleton: unknown): Template {
  return { name: 'operation', skeleton };
}

describe('fill', () => {
  it('replaces whole nodes, at any depth and in lists', () => {
    const skeleton = { a: { $value: 'x' }, list: [{ $value: 'y' }, 'kept'], fixed: { b: 1 } };
    expect(fill(template(skeleton), { x: { deep: [1] }, y: null })).toEqual({
      a: { deep: [1] },
      list: [null, 'kept'],
      fixed: { b: 1 },
    });
  });

  it('leaves an optional member out with its key', () => {
    const skeleton = { a: { $optional: 'x' }, b: { $optional: 'y' } };
    expect(fill(template(skeleton), { x: undefined, y: false })).toEqual({ b: false });
  });

  it('does not look into inputs, nor at a placeholder with company', () => {
    const skeleton = { a: { $value: 'x' }, b: { $value: 'x', other: 1 } };
    expect(fill(template(skeleton), { x: { $value: 'y' } })).toEqual({
      a: { $value: 'y' },
      b: { $value: 'x', other: 1 },
    });
  });

  it('never changes the skeleton', () => {
    const skeleton = Object.freeze({ a: Object.freeze({ $value: 'x' }) });
    fill(template(skeleton), { x: 1 });
    expect(skeleton).toEqual({ a: { $value: 'x' } });
  });

  it.each(['x', 'toString', '__proto__'])('says that the input %s is missing', (name) => {
    expect(() => fill(template({ a: { $value: name } }), {})).toThrow(`template operation needs the input ${name}`);
  });
});

describe('loadTemplate', () => {
  it('reads every template of the project', () => {
    for (const name of ['application-instance', 'operation', 'tombstone'] as const) {
      expect(loadTemplate(name).skeleton).toMatchObject({ apiVersion: expect.stringMatching(/\/v1alpha1$/) });
    }
  });
});
