import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { customResourceDefinition } from '../../src/resources/crd.ts';
import { HELM_RELEASE } from '../../src/resources/flux-helm-release.ts';
import { HELM_REPOSITORY } from '../../src/resources/flux-helm-repository.ts';
import { OCI_REPOSITORY } from '../../src/resources/flux-oci-repository.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { RESOURCE_DEFINITIONS } from '../../src/resources/resource-definitions.ts';
import { fluxCrds } from '../../src/sandbox/flux-crds.ts';

/** Flux' own definitions, where this machine has them beside the project. */
const FLUX = join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'crds', 'flux');
export const hasFluxDefinitions = existsSync(FLUX);

function fluxDefinitions(): readonly KubeObject[] {
  if (!hasFluxDefinitions) return fluxCrds();
  return readdirSync(FLUX)
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => parseAllDocuments(readFileSync(join(FLUX, file), 'utf8')))
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

/**
 * Installs Flux' definitions (its own, or minimal ones of the sandbox) and ours, and returns once all are served. By
 * create, which on a server before 1.25 drops the rules in CEL as `kubectl apply --validate=false` does.
 */
export async function installDefinitions(
  api: ClusterApi,
  which: { readonly own: boolean } = { own: true },
): Promise<void> {
  const own = which.own ? RESOURCE_DEFINITIONS : [];
  const definitions = [...fluxDefinitions(), ...own.map((definition) => customResourceDefinition(definition))];
  for (const definition of definitions) await api.create(definition, 'test');
  const kinds = [
    HELM_RELEASE,
    OCI_REPOSITORY,
    HELM_REPOSITORY,
    ...own.map(({ group, version, kind }) => ({ apiVersion: `${group}/${version}`, kind })),
  ];
  for (const kind of kinds) await served(api, kind);
}

/** Discovery, and then the storage behind it, follow a moment after a definition is taken. */
async function served(api: ClusterApi, kind: { readonly apiVersion: string; readonly kind: string }): Promise<void> {
  const name = Object.values(kind).join(' ');
  for (let look = 0; look < 300; look += 1) {
    if (
      await api.list(kind).then(
        () => true,
        () => false,
      )
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${name} is not served 30 s after its definition was taken`);
}
