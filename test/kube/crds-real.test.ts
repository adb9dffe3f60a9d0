import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KubeError, type ClusterApi } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import type { ObjectRule } from '../../src/resources/object-rule.ts';
import { RESOURCE_DEFINITIONS } from '../../src/resources/resource-definitions.ts';
import { structuralSchema, type JsonSchema, type StructuralSchema } from '../../src/resources/structural-schema.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { RULE_CASES } from '../resources/rule-cases.ts';
import { describeRealCluster, START_TIMEOUT_MS, type RealCluster } from '../support/real-cluster/real-cluster.ts';

const run = promisify(execFile);
const CRDS = join(import.meta.dirname, '..', '..', 'crds');
const missing = spawnSync('kubectl', ['version', '--client']).error !== undefined;
if (missing) process.stderr.write('crds-real.test.ts: there is no kubectl on the PATH, so what it says is not tried\n');

/** Every node that `kubectl explain` can show with fields of its own: `spec.chart`, `status.conditions`, … */
function objectPaths(schema: StructuralSchema, path: string): string[] {
  const node = (schema['items'] as StructuralSchema | undefined) ?? schema;
  const properties = node['properties'] as Record<string, StructuralSchema> | undefined;
  if (properties === undefined) return [];
  return [path, ...Object.entries(properties).flatMap(([name, member]) => objectPaths(member, `${path}.${name}`))];
}

function fieldsAt(schema: StructuralSchema): Record<string, StructuralSchema> {
  const node = (schema['items'] as StructuralSchema | undefined) ?? schema;
  return (node['properties'] ?? {}) as Record<string, StructuralSchema>;
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, ' ');
}

describeRealCluster('custom resource definitions on a real API server', (start) => {
  let cluster: RealCluster;
  let api: ClusterApi & AsyncDisposable;
  const kubectl = async (...args: string[]): Promise<string> => {
    const { stdout } = await run('kubectl', ['--kubeconfig', cluster.kubeconfigPath, ...args], { timeout: 60_000 });
    return stdout;
  };

  beforeAll(async () => {
    cluster = await start();
    api = connectCluster({
      kubeconfig: { kind: 'text', yaml: cluster.kubeconfig },
      userAgent: 'crds-test',
      clock: systemClock,
      random: Math.random,
    });
    for (const name of ['shop', 'service-system']) {
      await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, 'test');
    }
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await api?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  it.skipIf(missing)('are taken by `kubectl apply -f crds/` with its plain validation', async () => {
    const said = await kubectl('apply', '-f', CRDS);
    expect(said.match(/ created$/gm)).toHaveLength(RESOURCE_DEFINITIONS.length);
    await kubectl('wait', '--for=condition=Established', '--timeout=30s', '-f', CRDS);
  });

  it.skipIf(missing)('explain every field of every kind', { timeout: 180_000 }, async () => {
    await published(async () => await kubectl('explain', 'cluster.status', '--api-version=ops.service.io/v1alpha1'));
    const silent: string[] = [];
    for (const { kind, group, version, singular, spec, status } of RESOURCE_DEFINITIONS) {
      for (const [part, schema] of Object.entries({ spec, status })) {
        const structural = structuralSchema(schema as JsonSchema, part);
        for (const path of objectPaths(structural, part)) {
          const told = squeezed(await kubectl('explain', `${singular}.${path}`, `--api-version=${group}/${version}`));
          const node = path
            .split('.')
            .slice(1)
            .reduce((parent, member) => fieldsAt(parent)[member] ?? {}, structural);
          for (const [name, field] of Object.entries(fieldsAt(node))) {
            // kubectl breaks lines where it likes, within an address too.
            const [words = ''] = (field['description'] as string).split(/[/:]/);
            if (!told.includes(squeezed(words).slice(0, 60))) silent.push(`${kind}.${path}.${name}`);
          }
        }
      }
    }
    expect(silent).toEqual([]);
  });

  it('keep a number out of range, a text of another form and an unknown word out, and drop unknown fields', async () => {
    const operation = (spec: object): KubeObject => ({
      apiVersion: 'ops.service.io/v1alpha1',
      kind: 'Operation',
      metadata: { name: 'bounds', namespace: 'shop' },
      spec: { template: 'scale', ...spec },
    });
    const refusal = async (object: KubeObject): Promise<string> =>
      await api.create(object, 'test').then(
        () => 'taken',
        (error: unknown) => (error instanceof KubeError ? `${error.status} ${error.causes[0]?.field ?? ''}` : 'thrown'),
      );
    await published(async () => await api.list({ apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation' }));
    expect(await refusal(operation({ ttlSecondsAfterFinished: 31_536_001 }))).toBe('422 spec.ttlSecondsAfterFinished');
    expect(await refusal(operation({ deadlineSeconds: 0 }))).toBe('422 spec.deadlineSeconds');
    expect(await refusal(operation({ template: 'Not A Name' }))).toBe('422 spec.template');
    const made = await api.create(operation({ colour: 'red', parameters: { colour: 'red' } }), 'test');
    expect(made['spec']).toEqual({ template: 'scale', parameters: { colour: 'red' } });
    const late = { ...operation({}), status: { startedAt: 'yesterday' } };
    await expect(api.apply(late, { fieldManager: 'test', subresource: 'status', force: true })).rejects.toMatchObject({
      status: 422,
      causes: [{ field: 'status.startedAt' }],
    });
  });

  it(
    'with CEL are taken by every server, which holds the rules from Kubernetes 1.25 on',
    { timeout: 90_000 },
    async () => {
      const { honoured, told } = await applyWithRules(api, cluster);
      expect(told).toBe(`rules of ${honoured ? RESOURCE_DEFINITIONS.length : 0} kinds are kept`);
      const wrong: string[] = [];
      for (const { title, before, after, broken, onlyOurs } of RULE_CASES) {
        const outcome = await changed(api, before, after);
        const rule = broken === undefined || onlyOurs === true || !honoured ? undefined : messageOf(after.kind, broken);
        const isRight = rule === undefined ? outcome === 'taken' : outcome.includes(rule);
        if (!isRight) wrong.push(`${title}: ${outcome}`);
      }
      expect(wrong).toEqual([]);
    },
  );
});

/** Puts `after` where `before` was, on a server that has neither; answers how the server took it. */
async function changed(api: ClusterApi, before: KubeObject | undefined, after: KubeObject): Promise<string> {
  const { apiVersion, kind, metadata } = after;
  const ref = { apiVersion, kind, name: metadata.name, namespace: metadata.namespace ?? '' };
  try {
    await api.create(before ?? after, 'test');
    // Not by apply: up to 1.20.5 it leaves a null where a whole mapping is taken out.
    if (before !== undefined) await api.jsonPatch(ref, [{ op: 'replace', path: '/spec', value: after['spec'] }]);
    return 'taken';
  } catch (error) {
    return error instanceof Error ? error.message : 'thrown';
  } finally {
    await api.delete(ref);
  }
}

function messageOf(kind: string, name: string): string {
  const rules = (RESOURCE_DEFINITIONS.find((each) => each.kind === kind)?.rules ??
    []) as readonly ObjectRule<unknown>[];
  return rules.find((rule) => rule.name === name)?.message ?? `no rule ${name}`;
}

/** A definition is served, and published for explain, a moment after it is taken. */
async function published(look: () => Promise<unknown>): Promise<void> {
  await expect
    .poll(
      async () =>
        await look().then(
          () => true,
          () => false,
        ),
      { timeout: 30_000 },
    )
    .toBe(true);
}

/** An old server drops the rules from what it is given; whether this one does shows in what it keeps. */
async function applyWithRules(api: ClusterApi, cluster: RealCluster): Promise<{ honoured: boolean; told: string }> {
  const folder = join(CRDS, 'cel');
  await run('kubectl', ['--kubeconfig', cluster.kubeconfigPath, 'apply', '--validate=false', '-f', folder]);
  const kind = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
  const { items } = await api.list(kind);
  const kept = items.filter((item) => JSON.stringify(item['spec']).includes('x-kubernetes-validations')).length;
  return { honoured: kept > 0, told: `rules of ${kept} kinds are kept` };
}
