import { expect } from 'vitest';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { judgeSignature } from '../../src/policy/judge-signature.ts';
import { refOf, type KubeObject } from '../../src/resources/kube-object.ts';
import { anInstance, aPolicy } from '../reconcile/manifests.ts';
import { anOperation, controlPlaneKey } from '../policy/signed-approval.ts';
import { signed } from '../policy/signed-instance.ts';

const AWKWARD = {
  none: null,
  nested: { none: null, empty: {}, list: [], mixed: [null, 1, 'a', { b: null }] },
  numbers: [0, -1, 1.5, 1e21, 5e-324, 1.7976931348623157e308, 9007199254740991, 100000000000000000000],
  texts: ['', ' ', '007', 'true', 'null', '\u2028', '😀', 'a\nb\n'],
  'dotted.name/with slash': true,
};
const OBJECTS: readonly KubeObject[] = [
  anInstance({ name: 'plain' }),
  anInstance({ name: 'awkward', spec: { values: AWKWARD } }),
  anInstance({
    name: 'full',
    spec: {
      values: {},
      valuesFrom: [{ kind: 'Secret', name: 'a' }],
      dependsOn: [{ name: 'b' }],
      upgrade: { timeout: '5m', retries: 2, remediation: 'rollback' },
      driftDetection: 'warn',
      suspend: false,
      deletionPolicy: 'Orphan',
    },
  }),
  anOperation({ parameters: AWKWARD }, { annotations: { 'app.service.io/source': '1.1' } }),
];

/** The API server gives back the spec that was signed: it fills in nothing, drops nothing and rounds nothing. */
export async function expectSignedSpecsToLast(api: ClusterApi): Promise<void> {
  const policy = aPolicy({ signingKeys: [controlPlaneKey.publicJwk] });
  for (const object of OBJECTS) {
    const manifest = await signed(object);
    await api.apply(manifest, { fieldManager: 'service-operator' });
    // Another manager's write, and one of ours again.
    await api.mergePatch(refOf(object), { metadata: { labels: { team: 'a' } } }, { fieldManager: 'kubectl' });
    await api.apply(manifest, { fieldManager: 'service-operator' });
    const live = await api.get<KubeObject>(refOf(object));
    expect([object.metadata.name, await judgeSignature(live ?? object, policy)]).toEqual([
      object.metadata.name,
      { state: 'valid' },
    ]);
  }
}
