import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { untilServed } from '../../src/kube/define-kinds.ts';
import { customResourceDefinition } from '../../src/resources/crd.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { RESOURCE_DEFINITIONS } from '../../src/resources/resource-definitions.ts';
import { systemClock } from '../../src/runtime/clock.ts';
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
  await untilServed(api, definitions, { clock: systemClock });
}
