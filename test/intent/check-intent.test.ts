import { describe, expect, it } from 'vitest';
import { carryForward } from '../../src/intent/carry-forward.ts';
import { checkIntent, throwIfRefused, throwIfTooLarge } from '../../src/intent/check-intent.ts';
import type { IntentRecord } from '../../src/intent/intent-record.ts';
import type { IntentRequest } from '../../src/intent/intent-request.ts';
import type { LastIntent, PolicyContext } from '../../src/intent/policy-context.ts';
import { MAX_MANIFEST_BYTES } from '../../src/intent/rendered.ts';
import { AppError } from '../../src/protocol/app-error.ts';

const context: PolicyContext = {
  allowedNamespaces: ['shop', 'blog'],
  allowedCatalogEntries: ['podinfo', 'ghost'],
  allowedOperationTemplates: ['scale'],
  catalogEntry: { chart: { type: 'oci', url: 'oci://host/podinfo', name: 'podinfo' }, versions: '>=6.5.0 <7' },
};
const { catalogEntry: _catalogEntry, ...withoutEntry } = context;
const install: IntentRequest = {
  action: 'install',
  namespace: 'shop',
  name: 'podinfo',
  catalogEntry: 'podinfo',
  chartVersion: '6.5.0',
};
const operate: IntentRequest = {
  action: 'operate',
  namespace: 'shop',
  name: 'scale-1',
  operationTemplate: 'scale',
  parameters: { name: 'web', replicas: 2 },
};
const bare = { namespace: 'shop', name: 'podinfo' };

function refusalOf(intent: IntentRequest, against: PolicyContext = context): AppError {
  try {
    throwIfRefused(checkIntent(intent, against));
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('was taken');
}

describe('checkIntent', () => {
  it('takes an install and an operation that keep to the lists', () => {
    expect(checkIntent(install, context)).toEqual([]);
    expect(checkIntent(operate, withoutEntry)).toEqual([]);
    expect(() => throwIfRefused([])).not.toThrow();
  });

  it.each<[string, IntentRequest, PolicyContext, string, string, string]>([
    [
      'a namespace that is not allowed',
      { ...install, namespace: 'kube-system' },
      context,
      'forbidden',
      '/namespace',
      'namespace kube-system is not allowed on this cluster; allowed: shop, blog',
    ],
    [
      'a namespace where none is allowed',
      install,
      { ...context, allowedNamespaces: [] },
      'forbidden',
      '/namespace',
      'namespace shop is not allowed on this cluster; none is allowed',
    ],
    [
      'a catalog entry that is not allowed',
      { ...install, catalogEntry: 'mysql' },
      withoutEntry,
      'forbidden',
      '/catalogEntry',
      'catalog entry mysql is not allowed on this cluster; allowed: podinfo, ghost',
    ],
    [
      'a catalog entry that nobody has',
      { ...install, catalogEntry: 'ghost' },
      withoutEntry,
      'constraint_violated',
      '/catalogEntry',
      "catalog entry ghost is not in the organization's catalog; add it with PUT /api/v1/catalog/ghost",
    ],
    [
      'a version outside the range',
      { ...install, chartVersion: '7.0.0' },
      context,
      'constraint_violated',
      '/chartVersion',
      'chart version 7.0.0 is outside the range of catalog entry podinfo; allowed: >=6.5.0 <7',
    ],
    [
      'a pre-release that the range does not name',
      { ...install, chartVersion: '6.6.0-rc.1' },
      context,
      'constraint_violated',
      '/chartVersion',
      'chart version 6.6.0-rc.1 is outside the range of catalog entry podinfo; allowed: >=6.5.0 <7',
    ],
    [
      'an operation template that is not allowed',
      { ...operate, operationTemplate: 'run-job' },
      withoutEntry,
      'forbidden',
      '/operationTemplate',
      'operation template run-job is not allowed on this cluster; allowed: scale',
    ],
    [
      'an install without a version',
      { ...bare, action: 'install', catalogEntry: 'podinfo' },
      context,
      'constraint_violated',
      '/chartVersion',
      'is required for action install',
    ],
    [
      'an update of what is not there, which no field would mend',
      { ...bare, action: 'update' },
      context,
      'constraint_violated',
      '/action',
      'shop/podinfo is not installed on this cluster; use install first',
    ],
    [
      'an operation with values',
      { ...operate, values: {} },
      context,
      'constraint_violated',
      '/values',
      'does not belong to action operate, which takes operationTemplate, parameters, targetRef, deadlineSeconds, ttlSecondsAfterFinished and reason',
    ],
    [
      'an uninstall with a version',
      { ...bare, action: 'uninstall', chartVersion: '6.5.0' },
      { ...context, lastIntent: { action: 'install', state: 'ready' } },
      'constraint_violated',
      '/chartVersion',
      'does not belong to action uninstall, which takes none of the optional fields but reason',
    ],
    [
      'a manifest that is too large',
      install,
      { ...context, manifestBytes: MAX_MANIFEST_BYTES + 1 },
      'payload_too_large',
      '/values',
      'the manifest is 524289 bytes with these values; at most 524288 bytes (512 KiB) are allowed',
    ],
  ])('refuses %s and says what is allowed', (_name, intent, against, code, path, message) => {
    const error = refusalOf(intent, against);
    expect(error.code).toBe(code);
    expect(error.faults.map((fault) => [fault.path, fault.message])).toEqual([[path, message]]);
    expect(error.message).toBe(`${path}: ${message}`);
    expect(error.faults[0]).not.toHaveProperty('code');
  });

  it('lists every violation at once, under the gravest code', () => {
    const error = refusalOf({ ...install, namespace: 'a', chartVersion: '1.0.0', parameters: {} });
    expect(error.code).toBe('forbidden');
    expect(error.faults.map(({ path }) => path)).toEqual(['/namespace', '/parameters', '/chartVersion']);
    expect(error.message).toBe(
      '/namespace: namespace a is not allowed on this cluster; allowed: shop, blog (and 2 more)',
    );
  });

  it('does not tell the versions of an entry that the cluster may not use', () => {
    const error = refusalOf({ ...install, catalogEntry: 'mysql', chartVersion: '1.0.0' });
    expect(error.faults.map(({ path }) => path)).toEqual(['/catalogEntry']);
  });

  it('bounds the list in a message', () => {
    const allowedNamespaces = Array.from({ length: 1000 }, (_, index) => `ns-${index}`);
    expect(refusalOf(install, { ...context, allowedNamespaces }).message).toMatch(/ns-19 and 980 more$/);
  });

  it.each<[IntentRequest['action'], LastIntent | undefined, boolean]>([
    ['install', undefined, true],
    ['install', { action: 'uninstall', state: 'accepted' }, true],
    ['install', { action: 'uninstall', state: 'removed' }, true],
    ['install', { action: 'install', state: 'failed' }, true],
    ['install', { action: 'install', state: 'accepted' }, false],
    ['install', { action: 'install', state: 'ready' }, false],
    ['install', { action: 'update', state: 'failed' }, false],
    ['update', undefined, false],
    ['update', { action: 'uninstall', state: 'ready' }, false],
    ['update', { action: 'install', state: 'accepted' }, true],
    ['update', { action: 'install', state: 'failed' }, true],
    ['update', { action: 'update', state: 'failed' }, true],
    ['uninstall', undefined, false],
    ['uninstall', { action: 'uninstall', state: 'removed' }, false],
    ['uninstall', { action: 'install', state: 'failed' }, true],
    ['uninstall', { action: 'uninstall', state: 'failed' }, true],
    ['install', { action: 'uninstall', state: 'failed' }, true],
    ['uninstall', { action: 'update', state: 'ready' }, true],
    ['operate', undefined, true],
    ['operate', { action: 'operate', state: 'failed' }, true],
    ['operate', { action: 'operate', state: 'failed', applied_at: '2026-11-01T00:00:00.000Z' }, false],
    ['operate', { action: 'operate', state: 'ready' }, false],
    ['operate', { action: 'operate', state: 'accepted' }, false],
  ])('%s after %j: %s', (action, lastIntent, fits) => {
    const wanted: IntentRequest = action === 'operate' ? operate : { ...install, action };
    const { catalogEntry: _entry, chartVersion: _version, ...uninstall } = { ...install, action };
    const intent = action === 'uninstall' ? uninstall : wanted;
    const faults = checkIntent(intent, lastIntent === undefined ? context : { ...context, lastIntent });
    expect(faults.map(({ path }) => path)).toEqual(fits ? [] : [action === 'operate' ? '/name' : '/action']);
  });
});

describe('an operation under a name that only the cluster knows', () => {
  it('is refused, and another name is told', () => {
    const faults = checkIntent(operate, { ...context, isNameReported: true });
    expect(faults.map(({ path, message }) => [path, message])).toEqual([
      ['/name', expect.stringMatching(/^the cluster has reported an operation shop\/scale-1 .* such as scale-1-2$/)],
    ]);
    expect(checkIntent(install, { ...context, isNameReported: true })).toEqual([]);
  });
});

describe('throwIfTooLarge', () => {
  it('measures bytes, not characters', () => {
    expect(() => throwIfTooLarge(install, { text: 'a'.repeat(MAX_MANIFEST_BYTES) })).not.toThrow();
    expect(() => throwIfTooLarge(install, { text: 'é'.repeat(MAX_MANIFEST_BYTES / 2 + 1) })).toThrow(/524290 bytes/);
    expect(() => throwIfTooLarge(operate, { text: 'é'.repeat(MAX_MANIFEST_BYTES) })).toThrow(/^\/parameters: /);
  });
});

describe('carryForward', () => {
  const last: IntentRecord = {
    ...bare,
    intentVersion: 'v1alpha1',
    id: 'int-1',
    action: 'install',
    generation: 1,
    catalogEntry: 'podinfo',
    chartVersion: '6.5.0',
    values: { a: 1 },
    requestedBy: 'x',
    requestedAt: '2026-11-28T00:00:00Z',
  };

  it('fills an update from the last install or update, and nothing else of it', () => {
    expect(carryForward({ ...bare, action: 'update', chartVersion: '6.6.1' }, last)).toEqual({
      ...bare,
      action: 'update',
      catalogEntry: 'podinfo',
      chartVersion: '6.6.1',
      values: { a: 1 },
    });
  });

  it('replaces values whole', () => {
    expect(carryForward({ ...bare, action: 'update', values: { b: 2 } }, last).values).toEqual({ b: 2 });
  });

  it('leaves other actions, and an update of nothing, as they are', () => {
    const uninstall: IntentRequest = { ...bare, action: 'uninstall' };
    expect(carryForward(uninstall, last)).toBe(uninstall);
    const update: IntentRequest = { ...bare, action: 'update' };
    expect(carryForward(update, undefined)).toBe(update);
    expect(carryForward(update, { ...last, action: 'uninstall' })).toBe(update);
  });
});
