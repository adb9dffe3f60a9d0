import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { INSTALL } from '../../control-plane/running-control-plane.ts';
import { WholeSystem } from '../../operator/whole-system.ts';

const UPDATE = { action: 'update', namespace: 'shop', name: 'podinfo', chartVersion: '6.6.1' };
const UNINSTALL = { action: 'uninstall', namespace: 'shop', name: 'podinfo' };
const RUN = {
  action: 'operate',
  namespace: 'shop',
  name: 'restart',
  operationTemplate: 'rollout-restart',
  parameters: { kind: 'Deployment', name: 'podinfo' },
};

interface DirectorySource {
  readonly recurse?: boolean;
  readonly exclude?: string;
}

/** Files by their path in the cluster's directory. */
type Files = ReadonlyMap<string, string>;

/** Manifests in the examples of the document. */
const EXAMPLES = [...readFileSync('docs/other-syncers.md', 'utf8').matchAll(/```yaml\n([^]*?)```/g)].flatMap(
  ([, text = '']) => parseAllDocuments(text).map((document) => document.toJS() as KubeObject & Record<string, unknown>),
);
const argo = EXAMPLES.find(({ kind }) => kind === 'Application')?.['spec'] as {
  readonly source: { readonly directory: DirectorySource };
  readonly syncPolicy: { readonly automated: { readonly prune: boolean } };
};
const flux = EXAMPLES.find(({ kind }) => kind === 'Kustomization')?.['spec'] as { readonly prune: boolean };

/**
 * What kustomize-controller puts into the kustomization that it makes for a directory without one: every file whose
 * extension is .yaml or .yml (`generateKustomization` in fluxcd/pkg, kustomize/kustomize_generator.go), and a
 * sub-directory with a kustomization file as a whole (`konfig.RecognizedKustomizationFileNames`).
 */
function pickedByFlux(files: Files): string[] {
  const own = [...files.keys()].filter((path) => /(^|\/)(kustomization\.ya?ml|Kustomization)$/.test(path));
  return [...own, ...[...files.keys()].filter((path) => ['.yaml', '.yml'].includes(extname(path)))];
}

/**
 * What Argo CD reads of a directory (`findManifests` in argoproj/argo-cd, reposerver/repository/repository.go): names that
 * match `^.*\.(yaml|yml|json|jsonnet)$`, less what `exclude` matches by a gobwas glob without separators.
 */
function pickedByArgo(files: Files, { recurse = false, exclude = '' }: DirectorySource): string[] {
  const glob = exclude.replace(/[.+^$()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '.*');
  return [...files.keys()].filter(
    (path) =>
      /^.*\.(yaml|yml|json|jsonnet)$/.test(path) &&
      (recurse || !path.includes('/')) &&
      (exclude === '' || !new RegExp(`^${glob}$`).test(path)),
  );
}

/** The directory as the control plane wrote it. */
function directoryOf(system: WholeSystem): Files {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', join(system.plane.folder, 'git', 'fleet.git'), ...args], { encoding: 'utf8' });
  const paths = git('ls-tree', '-r', '--name-only', 'main:clusters/eu').trim().split('\n');
  return new Map(paths.map((path) => [path, git('cat-file', 'blob', `main:clusters/eu/${path}`)]));
}

/** Applies what Flux would, as it would. */
async function syncAsFlux(system: WholeSystem): Promise<void> {
  const files = directoryOf(system);
  for (const path of pickedByFlux(files)) {
    const object = parse(files.get(path) ?? '') as KubeObject;
    await system.world.cluster.api.apply(object, { fieldManager: 'kustomize-controller', force: true });
  }
}

/** A cluster to which everything was done that leaves a file. */
async function startWritten(): Promise<WholeSystem> {
  await using owned = new AsyncDisposableStack();
  const operations = { allowedOperationTemplates: ['rollout-restart'] };
  const system = owned.use(await WholeSystem.start(undefined, 'gitops', operations));
  await system.bring({ ...INSTALL, name: 'gone' }, 'ready');
  await system.bring({ ...UNINSTALL, name: 'gone' }, 'removed');
  await system.bring(INSTALL, 'ready');
  await system.bring(RUN, 'delivered');
  owned.move();
  return system;
}

describe('a directory that the control plane wrote', () => {
  it('is manifests that an API server takes as they are, and files that Flux and Argo CD leave out as documented', async () => {
    await using system = await startWritten();
    const files = directoryOf(system);
    const manifests = ['apps/shop/podinfo.yaml', 'operations/shop/restart.yaml'];
    expect([...files.keys()].sort()).toEqual(['README.md', ...manifests, 'tombstones/shop/gone.json']);
    expect(pickedByFlux(files).sort()).toEqual(manifests);
    expect(pickedByArgo(files, argo.source.directory).sort()).toEqual(manifests);
    expect([flux.prune, argo.syncPolicy.automated.prune]).toEqual([false, false]);
    for (const path of manifests) {
      const text = files.get(path) ?? '';
      expect([path, parseAllDocuments(text).length]).toEqual([path, 1]);
      const object = parse(text) as KubeObject;
      const options = { fieldManager: 'kustomize-controller', force: true, dryRun: true };
      const { object: applied } = await system.world.cluster.api.apply<KubeObject>(object, options);
      expect(applied).toMatchObject({ kind: object.kind, metadata: { name: object.metadata.name, namespace: 'shop' } });
    }
    // The trap that the exclusion is for: an object without a name.
    const unexcluded = pickedByArgo(files, { recurse: true }).filter((path) => !manifests.includes(path));
    expect(unexcluded).toEqual(['tombstones/shop/gone.json']);
    expect(JSON.parse(files.get('tombstones/shop/gone.json') ?? '')).not.toHaveProperty('metadata');
    // Nothing by which a syncer takes the directory for something else.
    const names = [...files.keys()].map((path) => path.slice(path.lastIndexOf('/') + 1));
    const telling = /^(kustomization\.ya?ml|Kustomization|Chart\.yaml|values\.yaml|\.argocd-source.*|.*sonnet)$/;
    expect(names.filter((name) => telling.test(name))).toEqual([]);
  });
});

describe('a cluster that another syncer applies too', () => {
  it('waits for it with an update, says so, and is in sync after its turn; an uninstall is the operator’s', async () => {
    await using system = await startWritten();
    await syncAsFlux(system);
    await system.bring(UPDATE, 'delivered');
    const conflict = await system.world.until('Synced', 'False', 'ApplyConflict');
    expect(conflict.message).toContain('kustomize-controller');
    await syncAsFlux(system);
    await system.world.until('Synced', 'True', 'Applied');
    const { body } = await system.plane.call('GET', '/clusters/eu/intents');
    const update = body['items'].find(({ action }: { action: string }) => action === 'update');
    await system.plane.until(String(update.id), 'ready');
    await system.bring(UNINSTALL, 'removed');
    expect(await system.instance('podinfo')).toBeUndefined();
  }, 60_000);
});
