import { Option } from 'commander';
import type { Manifest } from '../install/render-install.ts';

export type ManifestOutput = 'yaml' | 'json';

export function outputOption(): Option {
  return new Option('-o, --output <format>', 'how it is printed').choices(['yaml', 'json']).default('yaml');
}

/** Both are taken by `kubectl apply -f -`. */
export function manifestOutput({ text, objects }: Manifest, output: ManifestOutput): string {
  return output === 'yaml' ? text : `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, null, 2)}\n`;
}
