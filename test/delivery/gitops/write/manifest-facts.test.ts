import { describe, expect, it } from 'vitest';
import { readManifestFacts } from '../../../../src/delivery/gitops/write/manifest-facts.ts';

const MANIFEST = `kind: ApplicationInstance
metadata:
  annotations:
    app.service.io/source: "1.2"
    app.service.io/intent-id: int_1
spec: { chart: { version: 1.2.3 } }
`;
const FACTS = {
  kind: 'ApplicationInstance',
  order: { epoch: 1, generation: 2 },
  intentId: 'int_1',
  chartVersion: '1.2.3',
};

describe('readManifestFacts', () => {
  it('reads what a manifest says of itself', () => {
    expect(readManifestFacts(MANIFEST)).toEqual(FACTS);
  });

  // Each took minutes, in which the control plane answered nobody.
  it('reads as much past forty thousand members', () => {
    const members = Array.from({ length: 40_000 }, (_, at) => `k${at}: 1\n`).join('');
    expect(readManifestFacts(members + MANIFEST)).toEqual(FACTS);
  });

  it.each([
    ['names within names', '? '.repeat(2000)],
    ['a file that is larger than any manifest', `${MANIFEST}#${'x'.repeat(512 * 1024)}`],
    ['a file that is no YAML', 'a: [b'],
    ['other things in its places', 'kind: [A]\nmetadata: x\nspec:\n  - a\n'],
  ])('has no facts of %s', (_, text) => {
    expect(readManifestFacts(text)).toEqual({});
  });
});
