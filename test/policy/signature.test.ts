import { describe, expect, it } from 'vitest';
import { generateSigningKey } from '../../src/protocol/signing-key.ts';
import { checkApplicationInstance } from '../../src/policy/check-application-instance.ts';
import { checkOperation } from '../../src/policy/check-operation.ts';
import { judgeSignature } from '../../src/policy/judge-signature.ts';
import type { ApplicationInstance } from '../../src/resources/application-instance.ts';
import { anInstance, aNamespace, aPolicy } from '../reconcile/manifests.ts';
import { anOperation, controlPlaneKey, NOW } from './signed-approval.ts';
import { signed } from './signed-instance.ts';

const policy = aPolicy({
  operationTemplates: ['velero-backup'],
  signingKeys: [controlPlaneKey.publicJwk],
  requireSignedPayloads: true,
});
const situation = { namespace: aNamespace(), policy, now: NOW };
const instance = await signed(anInstance());

function changed(change: Partial<ApplicationInstance['metadata']>, spec: object = {}): ApplicationInstance {
  const { annotations, ...metadata } = { ...instance.metadata, ...change };
  return {
    ...instance,
    metadata: { ...metadata, annotations: { ...instance.metadata.annotations, ...annotations } },
    spec: { ...instance.spec, ...spec },
  };
}

async function reasons(object: ApplicationInstance): Promise<string[]> {
  return (await checkApplicationInstance(object, situation)).map(({ reason, message }) => `${reason}: ${message}`);
}

describe('where signed payloads are required', () => {
  it('what the control plane signed is taken, and with it what the cluster adds', async () => {
    await expect(reasons(instance)).resolves.toEqual([]);
    const later = changed({ uid: 'u', generation: 4, finalizers: ['x/y'], labels: { team: 'a' } });
    await expect(reasons({ ...later, status: { observedGeneration: 4 } })).resolves.toEqual([]);
    const operation = anOperation({}, { annotations: { 'app.service.io/source': '1.1' } });
    await expect(checkOperation(await signed(operation), situation)).resolves.toEqual([]);
  });

  const faults: readonly [string, ApplicationInstance | Promise<ApplicationInstance>, string][] = [
    ['carries none', anInstance(), 'SignatureMissing: it carries no signature of the control plane'],
    ['has another spec', changed({}, { suspend: true }), 'SignatureInvalid: its signature is not good: it is not over'],
    ['has values added', changed({}, { values: { a: 1 } }), 'SignatureInvalid: its signature is not good: it is not'],
    ['is another object', changed({ name: 'other' }), 'SignatureInvalid: its signature is not good: it is not over'],
    [
      'has another place in the order',
      changed({ annotations: { 'app.service.io/source': '1.2' } }),
      'SignatureInvalid: its signature is not good: it is not over',
    ],
    [
      'has no place in the order',
      changed({ annotations: { 'app.service.io/source': 'x' } }),
      'SignatureInvalid: it carries a signature, and no annotation app.service.io/source',
    ],
    [
      'is signed for another cluster',
      signed(anInstance(), { clusterId: 'c-1111111111111111' }),
      'SignatureInvalid: its signature is not good: it was made for another cluster_id: c-1111111111111111',
    ],
    [
      'is signed by another key',
      signed(anInstance(), { key: generateSigningKey() }),
      'SignatureInvalid: its signature is not good: it is made with key',
    ],
    [
      'carries nonsense',
      changed({ annotations: { 'app.service.io/signature': 'x' } }),
      'SignatureInvalid: its signature is not good: it is not a compact JWS',
    ],
  ];

  it.each(faults)('what %s is refused, and says what to do', async (_, object, start) => {
    const [first = '', ...rest] = await reasons(await object);
    expect(rest).toEqual([]);
    expect(first).toMatch(new RegExp(`^${start}`));
    expect(first).toContain('deliver it anew with an update intent');
  });

  it('an operation without one is refused', async () => {
    const violations = await checkOperation(anOperation(), situation);
    expect(violations.map(({ reason }) => reason)).toEqual(['SignatureMissing']);
  });

  it('nothing can be verified, so nothing is taken, before the cluster knows a key', async () => {
    const keyless = { ...situation, policy: { ...policy, signingKeys: [] } };
    const [violation] = await checkApplicationInstance(instance, keyless);
    expect(violation?.reason).toBe('SignatureMissing');
    expect(violation?.message).toContain('the control plane has not given this cluster its public key');
  });
});

describe('where signed payloads are not required', () => {
  it('what was changed in the cluster since is taken at reconcile, signed or not', async () => {
    const lax = { ...situation, policy: { ...policy, requireSignedPayloads: false } };
    for (const object of [anInstance(), changed({}, { suspend: true })]) {
      await expect(checkApplicationInstance(object, lax)).resolves.toEqual([]);
    }
    await expect(judgeSignature(changed({}, { suspend: true }), policy)).resolves.toMatchObject({ state: 'invalid' });
  });
});
