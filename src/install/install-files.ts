import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** Folders of `templates/install/`. Each is a kustomization; its `resources` say which files it has, and in which order. */
export type InstallFolder =
  | 'crds'
  | 'operator'
  | 'cluster'
  | 'namespace'
  | 'pod-disruption-budget'
  | 'pod-disruption-budget-v1beta1'
  | 'upgrade'
  | 'velero';

/** The YAML text of every file of a folder, one object each. `cel`: the definitions with rules (Kubernetes 1.25 and later). */
export type InstallFiles = Readonly<Record<InstallFolder | 'cel', readonly string[]>>;

const ROOT = fileURLToPath(new URL('../../templates/install', import.meta.url));
const LISTS = ['kustomization.yaml', 'Kustomization'];

/** Reads `templates/install/` and the `crds/` it names. Throws when something is not there: the installation is broken. */
export function readInstallFiles(root: string = ROOT): InstallFiles {
  const read = (folder: InstallFolder): readonly string[] => readFolder(join(root, folder));
  return {
    crds: read('crds'),
    cel: readFolder(join(root, '..', '..', 'crds', 'cel')),
    operator: read('operator'),
    cluster: read('cluster'),
    namespace: read('namespace'),
    'pod-disruption-budget': read('pod-disruption-budget'),
    'pod-disruption-budget-v1beta1': read('pod-disruption-budget-v1beta1'),
    upgrade: read('upgrade'),
    velero: read('velero'),
  };
}

function readFolder(folder: string): readonly string[] {
  const list = LISTS.map((name) => join(folder, name)).find((file) => existsSync(file));
  if (list === undefined) throw new Error(`${folder} has no kustomization.yaml: the installation is broken`);
  const { resources = [] } = parse(readFileSync(list, 'utf8')) as { readonly resources?: readonly string[] };
  return resources.flatMap((resource) => {
    const path = join(folder, resource);
    return statSync(path).isDirectory() ? readFolder(path) : [readFileSync(path, 'utf8')];
  });
}
