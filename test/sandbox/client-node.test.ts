import {
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  Watch,
  type KubernetesObject,
  type V1ConfigMap,
} from '@kubernetes/client-node';
import { expect, it } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/start-sandbox.ts';

function configOf(sandbox: Sandbox): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(sandbox.kubeconfig());
  return config;
}

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } };

it('serves client-node’s object API: create, read, replace, patch, apply, list, delete', async () => {
  await using sandbox = await startSandbox();
  const api = KubernetesObjectApi.makeApiClient(configOf(sandbox));
  const created = await api.create<V1ConfigMap>({ ...configMap, data: { x: '1' } });
  expect(created.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
  const replaced = await api.replace<V1ConfigMap>(Object.assign(created, { data: { x: '2' } }));
  expect(replaced).toMatchObject({ data: { x: '2' } });
  const applied = await api.patch(
    { ...configMap, data: { y: '3' } } as KubernetesObject,
    undefined,
    undefined,
    'tester',
    false,
    PatchStrategy.ServerSideApply,
  );
  expect(applied).toMatchObject({ data: { x: '2', y: '3' } });
  const merged = await api.patch(
    { ...configMap, data: { x: null } } as KubernetesObject,
    undefined,
    undefined,
    undefined,
    undefined,
    PatchStrategy.MergePatch,
  );
  expect(merged).toMatchObject({ data: { y: '3' } });
  const list = await api.list('v1', 'ConfigMap', 'default');
  expect(list.items.map((item) => item.metadata?.name)).toEqual(['a']);
  await api.delete(configMap);
  await expect(api.read(configMap)).rejects.toMatchObject({ code: 404 });
});

it('serves client-node’s watch and typed clients', async () => {
  await using sandbox = await startSandbox();
  const config = configOf(sandbox);
  const core = config.makeApiClient(CoreV1Api);
  const seen = Promise.withResolvers<string>();
  const abort = await new Watch(config).watch(
    '/api/v1/namespaces/default/configmaps',
    {},
    (phase, object: { metadata: { name: string } }) => seen.resolve(`${phase} ${object.metadata.name}`),
    (error: unknown) => {
      if (error instanceof Error && error.name !== 'AbortError') seen.reject(error);
    },
  );
  await core.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name: 'watched' } } });
  expect(await seen.promise).toBe('ADDED watched');
  abort.abort();
});
