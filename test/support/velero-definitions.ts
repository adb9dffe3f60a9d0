import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { veleroCrds } from '../../src/sandbox/velero-crds.ts';

const VELERO = join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'crds', 'velero');
export const hasVeleroDefinitions = existsSync(VELERO);

/** Velero's own definitions, where this machine has them beside the project, else those of the sandbox. */
export function veleroDefinitions(): readonly KubeObject[] {
  if (!hasVeleroDefinitions) return veleroCrds();
  return readdirSync(VELERO)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => parse(readFileSync(join(VELERO, file), 'utf8')) as KubeObject);
}
