import { describe, expect, it } from 'vitest';
import { carryForward } from '../../src/intent/carry-forward.ts';
import { checkIntent } from '../../src/intent/check-intent.ts';
import { intentIdempotencyKey } from '../../src/intent/intent-key.ts';
import type { IntentRecord } from '../../src/intent/intent-record.ts';
import { parseIntentRequest, type IntentRequest } from '../../src/intent/intent-request.ts';
import type { PolicyContext } from '../../src/intent/policy-context.ts';
import { renderIntent } from '../../src/intent/render.ts';
import { AppError } from '../../src/protocol/app-error.ts';
import type { InstanceOptions } from '../../src/resources/instance-options.ts';
import { inputs, install, target } from './podinfo-intent.ts';

const options: InstanceOptions = {
  releaseName: 'web',
  targetNamespace: 'blog',
  dependsOn: [{ name: 'db' }, { namespace: 'blog', name: 'cache' }],
  upgrade: { timeout: '10m', retries: 2, remediation: 'rollback' },
  driftDetection: 'warn',
  driftIgnore: [{ paths: ['/spec/replicas'], target: { kind: 'Deployment', name: 'web' } }],
  suspend: false,
  deletionPolicy: 'Orphan',
};
const request: IntentRequest = {
  action: 'install',
  namespace: 'shop',
  name: 'podinfo',
  catalogEntry: 'podinfo',
  chartVersion: '6.5.0',
  ...options,
};
const update: IntentRequest = { action: 'update', namespace: 'shop', name: 'podinfo' };
const context: PolicyContext = {
  allowedNamespaces: ['shop', 'blog'],
  allowedCatalogEntries: ['podinfo'],
  allowedOperationTemplates: [],
  catalogEntry: { chart: { type: 'oci', url: 'oci://host/podinfo', name: 'podinfo' }, versions: '*' },
};
const standing = { lastIntent: { action: 'install', state: 'ready' }, lastOptions: options } as const;

function faultsOf(intent: IntentRequest, more: Partial<PolicyContext> = {}): string[] {
  return checkIntent(intent, { ...context, ...more }).map(({ code, path, message }) => `${code} ${path}: ${message}`);
}

function parseFaults(body: object): string[] {
  try {
    parseIntentRequest({ ...request, ...body });
    return [];
  } catch (error) {
    if (error instanceof AppError) return error.faults.map(({ path }) => path);
    throw error;
  }
}

describe('the options of an instance in an intent', () => {
  it('are taken, and refused by their paths, all at once', () => {
    expect(parseFaults({})).toEqual([]);
    expect(
      parseFaults({
        releaseName: 'Web',
        targetNamespace: '-',
        dependsOn: [{ name: 'a'.repeat(54) }, { name: 'db', kind: 'Service' }],
        upgrade: { timeout: '5', retries: 101, remediation: 'pray' },
        driftDetection: 'maybe',
        driftIgnore: [{ paths: [] }, { paths: ['spec'], target: { labelSelector: '=' } }, { paths: [''] }],
        suspend: 'yes',
        deletionPolicy: 'Keep',
      }).toSorted(),
    ).toEqual([
      '/deletionPolicy',
      '/dependsOn/0/name',
      '/dependsOn/1/kind',
      '/driftDetection',
      '/driftIgnore/0/paths',
      '/driftIgnore/1/paths/0',
      '/driftIgnore/1/target/labelSelector',
      '/driftIgnore/2/paths/0',
      '/releaseName',
      '/suspend',
      '/targetNamespace',
      '/upgrade/remediation',
      '/upgrade/retries',
      '/upgrade/timeout',
    ]);
  });

  it.each(['app', '!app', 'app=web', 'a.b/c == d', 'tier in (a,b), !canary', 'x notin ( y )', 'a='])(
    'take the selector %j',
    (labelSelector) => {
      expect(parseFaults({ driftIgnore: [{ paths: ['/spec'], target: { labelSelector } }] })).toEqual([]);
    },
  );

  it.each(['', 'a b', 'a in b', 'a in (b', ',a', 'a=b,', 'a=(b)'])('refuse the selector %j', (annotationSelector) => {
    expect(parseFaults({ driftIgnore: [{ paths: ['/spec'], target: { annotationSelector } }] })).toEqual([
      '/driftIgnore/0/target/annotationSelector',
    ]);
  });

  it('belong to install and update alone', () => {
    const parameters = { name: 'web', replicas: 1 };
    const operate: IntentRequest = {
      ...update,
      action: 'operate',
      operationTemplate: 'scale',
      parameters,
      suspend: true,
    };
    const allowed = { allowedOperationTemplates: ['scale'] };
    expect(faultsOf(operate, allowed)).toEqual([
      expect.stringMatching(
        /^constraint_violated \/suspend: does not belong to action operate, which takes operationTemplate/,
      ),
    ]);
  });

  it('stand in the spec under their names, each in its place', () => {
    const { text } = renderIntent({ ...install, ...options }, target, inputs);
    expect(text.slice(text.indexOf('  releaseName'))).toMatchInlineSnapshot(`
      "  releaseName: web
        targetNamespace: blog
        values:
          replicaCount: 2
          ui:
            color: "#34577c"
            message: hello
        dependsOn:
          - name: db
          - name: cache
            namespace: blog
        upgrade:
          remediation: rollback
          retries: 2
          timeout: "10m"
        driftDetection: warn
        driftIgnore:
          - paths:
              - /spec/replicas
            target:
              kind: Deployment
              name: web
        suspend: false
        deletionPolicy: Orphan
      "
    `);
  });

  it('that say nothing are left out, and records without them render and are keyed as before', () => {
    const empty = { dependsOn: [], upgrade: {}, driftIgnore: [] };
    expect(renderIntent({ ...install, ...empty }, target, inputs).text).toBe(
      renderIntent(install, target, inputs).text,
    );
    expect(intentIdempotencyKey(install)).toBe('intent/sha256-rvdRqmpMtVlRm2IIG-rE4v_9OctBrbMT5jEmRf4fwHM');
  });

  it('are carried on by an update, each until it is given anew', () => {
    const last: IntentRecord = { ...install, ...options };
    const after = carryForward({ ...update, suspend: true, dependsOn: [] }, last);
    expect(after).toEqual({
      ...update,
      catalogEntry: 'podinfo',
      chartVersion: '6.5.0',
      values: install.values,
      ...options,
      suspend: true,
      dependsOn: [],
    });
    expect(Object.keys(carryForward(update, install))).not.toContain('suspend');
  });

  it('that cannot change are refused in an update, and taken as they are', () => {
    expect(faultsOf(carryForward(update, { ...install, ...options }), standing)).toEqual([]);
    expect(faultsOf({ ...request, ...update, releaseName: 'other', targetNamespace: 'shop' }, standing)).toEqual([
      expect.stringMatching(/^constraint_violated \/releaseName: releaseName cannot be changed: .* it is web now/),
      expect.stringMatching(
        /^constraint_violated \/targetNamespace: targetNamespace cannot be changed: .* it is blog now/,
      ),
    ]);
    const bare = { ...standing, lastOptions: {} };
    expect(faultsOf({ ...request, ...update, targetNamespace: 'blog' }, bare).at(-1)).toMatch(/it is left out now/);
  });

  it('name no namespace that is not allowed', () => {
    const dependsOn = [{ name: 'db' }, { namespace: 'kube-system', name: 'dns' }];
    expect(faultsOf({ ...request, targetNamespace: 'kube-system', dependsOn })).toEqual([
      'forbidden /targetNamespace: namespace kube-system is not allowed on this cluster; allowed: shop, blog',
      'forbidden /dependsOn/1/namespace: namespace kube-system is not allowed on this cluster; allowed: shop, blog',
    ]);
  });

  it('do not go in a circle', () => {
    const circle = ['shop/podinfo', 'blog/cache', 'shop/podinfo'];
    expect(faultsOf(request, { circle })).toEqual([
      'constraint_violated /dependsOn/1: dependsOn goes in a circle, and each would wait for the next for ever: shop/podinfo -> blog/cache -> shop/podinfo; take one of these entries out',
    ]);
  });

  it('leave nothing alone where nothing is looked for', () => {
    const fault =
      'constraint_violated /driftIgnore: has an effect only where driftDetection is enabled or warn; set one of the two, or give driftIgnore as []';
    const { driftDetection: _none, ...without } = request;
    expect(faultsOf(without)).toEqual([fault]);
    expect(faultsOf({ ...request, driftDetection: 'disabled' })).toEqual([fault]);
    expect(faultsOf({ ...request, driftDetection: 'disabled', driftIgnore: [] })).toEqual([]);
  });
});
