import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { KubeError, type ClusterApi } from '../../src/kube/cluster-api.ts';
import { untilServed } from '../../src/kube/define-kinds.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { veleroCrds } from '../../src/sandbox/velero-crds.ts';

const VELERO = join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'crds', 'velero');
const hasVeleroDefinitions = existsSync(VELERO);

/** Velero's own definitions, where this machine has them beside the project, else those of the sandbox. */
function veleroDefinitions(): readonly KubeObject[] {
  if (!hasVeleroDefinitions) return veleroCrds();
  return readdirSync(VELERO)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => parse(readFileSync(join(VELERO, file), 'utf8')) as KubeObject);
}

/** Servers before 1.21 take an empty text for no default at all, and so not all of Velero's own. */
export async function installVelero(api: ClusterApi): Promise<void> {
  for (const definition of veleroDefinitions()) {
    try {
      await api.create(definition, 'test');
    } catch (error) {
      const own = veleroCrds().find(({ metadata }) => metadata.name === definition.metadata.name);
      if (!(error instanceof KubeError) || error.status !== 422 || own === undefined) throw error;
      await api.create(own, 'test');
    }
  }
  await untilServed(api, veleroDefinitions(), { clock: systemClock });
}
