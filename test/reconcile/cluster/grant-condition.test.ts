import { describe, expect, it } from 'vitest';
import { grantCondition } from '../../../src/reconcile/cluster/grant-condition.ts';
import type { Grant } from '../../../src/reconcile/namespace-watches.ts';

const grants = (of: Readonly<Record<string, Grant>>): ReadonlyMap<string, Grant> => new Map(Object.entries(of));

describe('NamespacesGranted', () => {
  it('names what is granted, and what is allowed and not open', () => {
    expect(grantCondition(grants({ shop: 'granted', bar: 'granted' }), ['shop', 'bar', 'yard'])).toEqual({
      type: 'NamespacesGranted',
      status: 'True',
      reason: 'NamespacesGranted',
      message: 'granted: bar, shop; allowed, and not there or not labelled: yard',
    });
    expect(grantCondition(grants({}), [])?.message).toBe('granted: none');
  });

  it('says nothing while watches are on their way, unless a grant is known to be missing', () => {
    expect(grantCondition(grants({ shop: 'granted', yard: 'opening' }), ['shop', 'yard'])).toBeUndefined();
    expect(grantCondition(grants({ bar: 'not_granted', yard: 'opening' }), ['bar', 'yard'])?.status).toBe('False');
  });

  it('names every namespace without a grant, with the command for each, and counts beyond twenty', () => {
    const names = Array.from({ length: 23 }, (_, index) => `n${String(index).padStart(2, '0')}`);
    const condition = grantCondition(new Map(names.map((name) => [name, 'not_granted'])), names);
    expect(condition?.reason).toBe('NamespaceNotGranted');
    expect(condition?.message).toContain("'servicectl namespaces add n00'");
    expect(condition?.message).toContain("'servicectl namespaces add n19'");
    expect(condition?.message).toMatch(/; and 3 more$/);
  });
});
