import { describe, expect, it } from 'vitest';
import type { IntentRecord } from '../../src/intent/intent-record.ts';
import { parseManifest, parseTombstone } from '../../src/intent/manifest.ts';
import { renderIntent } from '../../src/intent/render.ts';
import { inputs, install, target } from './podinfo-intent.ts';

describe('renderIntent', () => {
  it('renders an install as a reviewer should see it', () => {
    const rendered = renderIntent(install, target, inputs);
    expect(rendered.kind).toBe('apply');
    expect(rendered.idempotencyKey).toBe('applicationinstance/shop/podinfo@3');
    expect(rendered.text).toBe(`apiVersion: apps.service.io/v1alpha1
kind: ApplicationInstance
metadata:
  name: podinfo
  namespace: shop
  labels:
    app.service.io/managed-by: control-plane
    app.service.io/cluster-id: c-0123456789abcdef
  annotations:
    app.service.io/source: "2.3"
    app.service.io/intent-id: int-1
spec:
  catalogEntry: podinfo
  chart:
    type: oci
    url: oci://ghcr.io/stefanprodan/charts/podinfo
    name: podinfo
    version: 6.5.0
  values:
    replicaCount: 2
    ui:
      color: "#34577c"
      message: hello
`);
  });

  it('changes two lines of the manifest for a new version', () => {
    const before = renderIntent(install, target, inputs).text.split('\n');
    const update: IntentRecord = { ...install, id: 'int-1', action: 'update', generation: 4, chartVersion: '6.6.1' };
    const after = renderIntent(update, target, inputs).text.split('\n');
    expect(after.filter((line, index) => line !== before[index])).toEqual([
      '    app.service.io/source: "2.4"',
      '    version: 6.6.1',
    ]);
  });

  it('does not put the person who asked, or the reason, into the manifest', () => {
    expect(renderIntent(install, target, inputs).text).not.toMatch(/admin|first try/);
  });

  it('leaves out values where there are none', () => {
    const { values: _values, ...bare } = install;
    expect(renderIntent(bare, target, { chart: inputs.chart! }).text).not.toContain('values');
    expect(renderIntent({ ...install, values: {} }, target, { chart: inputs.chart! }).text).not.toContain('values');
  });

  it('renders an operation under the name of the intent', () => {
    const { catalogEntry: _entry, chartVersion: _version, values: _values, ...rest } = install;
    const operate: IntentRecord = {
      ...rest,
      action: 'operate',
      operationTemplate: 'scale',
      parameters: { to: 3, a: 1 },
    };
    const rendered = renderIntent(operate, target);
    expect(rendered.idempotencyKey).toBe('operation/shop/podinfo@3');
    expect(rendered.text).toMatch(/^apiVersion: ops.service.io\/v1alpha1\nkind: Operation\n/);
    expect(rendered.text).toMatch(/spec:\n {2}template: scale\n {2}parameters:\n {4}a: 1\n {4}to: 3\n$/);
    expect(parseManifest(rendered.text, 'operations/shop/podinfo.yaml').ok).toBe(true);
  });

  it('renders an uninstall as a tombstone that is read back', () => {
    const uninstall: IntentRecord = { ...install, action: 'uninstall', generation: 5 };
    const rendered = renderIntent(uninstall, target, { uid: 'u-1' });
    expect(rendered.idempotencyKey).toBe('applicationinstance/shop/podinfo@5');
    expect(rendered.text).toBe(`{
  "apiVersion": "apps.service.io/v1alpha1",
  "kind": "ApplicationInstance",
  "namespace": "shop",
  "name": "podinfo",
  "uid": "u-1",
  "intentId": "int-1",
  "epoch": 2,
  "generation": 5,
  "time": "2026-11-28T00:00:00.000Z"
}
`);
    const read = parseTombstone(rendered.text, 'tombstones/shop/podinfo.json');
    expect(read).toEqual({ ok: true, tombstone: rendered.kind === 'delete' && rendered.tombstone });
    expect(renderIntent(uninstall, target).text).not.toContain('uid');
  });

  it('says what is missing when it was not checked before', () => {
    expect(() => renderIntent(install, target)).toThrow('template application-instance needs the input chartType');
  });

  it('reads a value that looks like a placeholder as a value', () => {
    const values = { $value: 'clusterId', deep: { $optional: 'name' } };
    const rendered = renderIntent({ ...install, values }, target, { chart: inputs.chart! });
    expect(rendered.kind === 'apply' && rendered.object['spec']).toMatchObject({ values });
  });
});
