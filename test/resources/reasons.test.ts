import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Reason } from '../../src/resources/reasons.ts';

const source = readFileSync(new URL('../../src/resources/reasons.ts', import.meta.url), 'utf8');

describe('condition reasons', () => {
  it('are words that the API server takes as a reason, each under its own name', () => {
    for (const [name, reason] of Object.entries(Reason)) {
      expect(reason).toBe(name);
      expect(reason).toMatch(/^[A-Z][A-Za-z]{1,62}$/);
    }
  });

  it('are documented, each above its line', () => {
    const lines = source.split('\n').map((line) => line.trim());
    const bare = lines.filter((line, index) => /^\w+: '\w+',$/.test(line) && !lines[index - 1]?.endsWith('*/'));
    expect(bare).toEqual([]);
  });

  it('are set somewhere, or say that they are not yet', () => {
    const root = join(import.meta.dirname, '..', '..', 'src');
    // The one defines them, the other reads what was reported.
    const others = [join('resources', 'reasons.ts'), join('events', 'ingest', 'channel-reasons.ts')];
    const files = globSync('**/*.ts', { cwd: root }).filter((file) => !others.includes(file));
    const program = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
    const unset = Object.keys(Reason).filter((name) => !new RegExp(`\\bReason\\.${name}\\b`).test(program));
    const said = [...source.matchAll(/Not set yet\. \*\/\s+(\w+):/g)].map((match) => match[1]);
    expect(said).toEqual(unset);
  });

  it('hold those of the specification', () => {
    const named = [
      'HelmReleaseInstalling',
      'HelmReleaseUpgrading',
      'Stable',
      'HelmReleaseReady',
      'HelmReleaseUpgraded',
    ];
    expect(Object.keys(Reason)).toEqual(
      expect.arrayContaining([...named, 'HelmReleaseUpgradeFailed', 'CredentialRotated']),
    );
  });
});
