import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };

/** Where this version stands in words that nothing computes, and how often. */
const MENTIONS: readonly (readonly [file: string, pattern: RegExp, times: number])[] = [
  ['Dockerfile', /service-operator:(\S+) \./g, 1],
  ['Dockerfile', /^ARG VERSION=(\S+)$/gm, 1],
  ['docs/images.md', /service-(?:control-plane|operator):(\d[^\s`]*)/g, 4],
  ['docs/install.md', /service-(?:control-plane|operator):(\d[^\s`]*)/g, 6],
  ['templates/install/operator/deployment.yaml', /image: service-operator:(\S+)/g, 1],
  ['examples/kustomize/kustomization.yaml', /service-operator:(\d\S*)/g, 1],
  ['examples/kustomize/kustomization.yaml', /newTag: (\S+)/g, 1],
  ['CHANGELOG.md', /^## (\d[^\s,]*)/m, 1],
  ['package-lock.json', /"name": "service-control-plane",\s+"version": "([^"]+)"/g, 2],
];

describe('the version of package.json', () => {
  it.each(MENTIONS)('stands in %s, at %s', (file, pattern, times) => {
    const found = pattern.global
      ? [...read(file).matchAll(pattern)].map(([, said]) => said)
      : [pattern.exec(read(file))?.[1]];
    expect(found).toEqual(Array.from({ length: times }, () => version));
  });
});
