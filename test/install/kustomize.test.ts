import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { renderCrds, renderNamespaceGrant, renderOperator } from '../../src/install/render-install.ts';
import { renderPushAccess } from '../../src/install/render-push-access.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';

const missing = spawnSync('kubectl', ['version', '--client']).error !== undefined;
if (missing) process.stderr.write('kustomize.test.ts is skipped: there is no kubectl on the PATH\n');

const root = fileURLToPath(new URL('../..', import.meta.url));
const files = readInstallFiles();

/** By kind and name: kustomize has an order of its own. */
function byName(objects: readonly KubeObject[]): Record<string, KubeObject> {
  const named = objects.map((object) => {
    const { kind, metadata } = object;
    return [`${kind} ${metadata.namespace ?? ''}/${metadata.name}`, object] as const;
  });
  expect(new Set(named.map(([name]) => name)).size).toBe(objects.length);
  return Object.fromEntries(named);
}

function kustomize(folder: string): Record<string, KubeObject> {
  const text = execFileSync('kubectl', ['kustomize', folder], { cwd: root, encoding: 'utf8', timeout: 30_000 });
  return byName(parseAllDocuments(text).map((document) => document.toJS() as KubeObject));
}

describe.skipIf(missing)('kubectl kustomize gives the objects of servicectl', () => {
  it('for the definitions', () => {
    expect(kustomize('templates/install/crds')).toEqual(byName(renderCrds(files).objects));
  });

  it('for the operator', () => {
    expect(kustomize('templates/install/operator')).toEqual(byName(renderOperator(files).objects));
  });

  it('for the example with a cluster, an image and two components', () => {
    const { objects } = renderOperator(files, {
      cluster: { slug: 'prod-eu', baseUrl: 'https://control.example.com' },
      image: 'registry.example.com/service-operator:0.2.0',
      podDisruptionBudget: 'v1',
      allowUpgrade: true,
    });
    expect(kustomize('examples/kustomize')).toEqual(byName(objects));
  });

  it('for the grant of a namespace', () => {
    const { objects } = renderNamespaceGrant(files, { namespace: 'my-namespace' });
    expect(kustomize('templates/install/namespace')).toEqual(byName(objects));
  });

  it('for push mode, with and without what is optional', () => {
    const { objects } = renderPushAccess({ slug: 'a', namespaces: [], renewable: true, tokenSecret: true });
    const folders = ['push', 'push-renewal', 'push-token'].map((folder) => kustomize(`templates/install/${folder}`));
    expect(Object.assign({}, ...folders)).toEqual(byName(objects));
  });
});
