import { describe, expect, it } from 'vitest';
import { approvedSpecHash } from '../../src/protocol/approval-statement.ts';
import { generateSigningKey } from '../../src/protocol/signing-key.ts';
import { checkOperation } from '../../src/policy/check-operation.ts';
import type { Operation } from '../../src/resources/operation.ts';
import { aNamespace, aPolicy, CLUSTER_ID } from '../reconcile/manifests.ts';
import { anOperation, approved, claimsFor, controlPlaneKey, NOW, sign } from './signed-approval.ts';

const policy = aPolicy({ operationTemplates: ['velero-backup', 'scale'], signingKeys: [controlPlaneKey.publicJwk] });
const ASK = `ask for it anew with an intent and have that approved: POST /api/v1/clusters/${CLUSTER_ID}/intents`;
const SECONDS = NOW.getTime() / 1000;
const operation = anOperation();

async function judge(judged: Operation, with_: Partial<typeof policy> = {}): Promise<readonly string[]> {
  const situation = { namespace: aNamespace(), policy: { ...policy, ...with_ }, now: NOW };
  const violations = await checkOperation(judged, situation);
  return violations.map(({ reason, message }) => `${reason}: ${message}`);
}

function withStatement(statement: string, spec: Partial<Operation['spec']> = {}): Operation {
  return anOperation({ ...spec, approval: { required: true, statement } });
}

describe('an approval', () => {
  it('lets the operation through that it was given for', async () => {
    await expect(judge(await approved(operation))).resolves.toEqual([]);
  });

  it('counts without a key id too, and for the last second that it names', async () => {
    const claims = claimsFor(operation, { iat: SECONDS + 60, exp: SECONDS + 1 });
    await expect(judge(withStatement(await sign(claims, { header: {} })))).resolves.toEqual([]);
  });

  it('is not asked for where none is required, nor for what is to be cancelled', async () => {
    await expect(judge(operation)).resolves.toEqual([]);
    await expect(judge(anOperation({ approval: { required: false } }))).resolves.toEqual([]);
    await expect(judge(anOperation({ cancel: true, approval: { required: true } }))).resolves.toEqual([]);
  });

  it('is missed where one is required', async () => {
    await expect(judge(anOperation({ approval: { required: true } }))).resolves.toEqual([
      `ApprovalMissing: the operation needs an approval (spec.approval) and there is none; nobody in the cluster can approve it; ${ASK}`,
    ]);
  });

  const faults: readonly [string, () => Promise<Operation>, string][] = [
    ['has expired', () => approved(operation, { exp: SECONDS }), 'expired at 2026-03-01T10:00:00.000Z'],
    [
      'is of another cluster',
      () => approved(operation, { cluster_id: 'c-zzzzzzzzzzzzzzzz' }),
      `is for cluster c-zzzzzzzzzzzzzzzz; this is ${CLUSTER_ID}`,
    ],
    ['is of another name', () => approved(operation, { name: 'weekly' }), 'is for shop/weekly; this is shop/nightly'],
    [
      'is of another namespace',
      () => approved(operation, { namespace: 'bank' }),
      'is for bank/nightly; this is shop/nightly',
    ],
    [
      'was given before the spec was changed',
      async () => withStatement(await sign(claimsFor(operation)), { parameters: { ttl: '1h' } }),
      'is for another spec; this one is not as it was approved',
    ],
    [
      'is signed by another key that says so',
      async () => withStatement(await sign(claimsFor(operation), { key: generateSigningKey(), header: { kid: 'k2' } })),
      `is signed by key k2; this cluster's control plane signs with ${controlPlaneKey.kid}`,
    ],
    [
      'is signed by another key that names this one',
      async () =>
        withStatement(
          await sign(claimsFor(operation), { key: generateSigningKey(), header: { kid: controlPlaneKey.kid } }),
        ),
      "is forged or altered: its signature is not that of this cluster's control plane",
    ],
    [
      'was altered after it was signed',
      async () => {
        const [header = '', , signature = ''] = (await sign(claimsFor(operation, { exp: SECONDS }))).split('.');
        const payload = Buffer.from(JSON.stringify(claimsFor(operation))).toString('base64url');
        return withStatement(`${header}.${payload}.${signature}`);
      },
      "is forged or altered: its signature is not that of this cluster's control plane",
    ],
    [
      'is not signed at all',
      async () => {
        const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
        return withStatement(`${part({ alg: 'none' })}.${part(claimsFor(operation))}.`);
      },
      'is signed with none; EdDSA is expected',
    ],
    [
      'was given by who asked for it',
      () => approved(operation, { approvedBy: 'ada, bob, eve' }),
      'was given by bob, who asked for it; somebody else must approve',
    ],
    [
      'is good for ever',
      () => approved(operation, { exp: SECONDS + 8 * 86_400 }),
      'is good until 2026-03-09T10:00:00.000Z, which is 9 days; one for more than 7 is not taken',
    ],
    [
      'is endless',
      async () => withStatement(`${await sign(claimsFor(operation))}${'A'.repeat(8192)}`),
      'has more than 8192 characters',
    ],
    [
      'lacks a claim',
      async () => withStatement(await sign({ ...claimsFor(operation), jti: undefined })),
      'lacks what an approval says: cluster_id, namespace, name, specHash, approvedBy, iat, exp, jti',
    ],
    [
      'carries critical header members, as signatures of payloads do',
      async () => withStatement(await sign(claimsFor(operation), { header: { crit: ['b64'], b64: true } })),
      'carries critical header members; an approval has none',
    ],
    ['is no JWS', async () => withStatement('approved by ada'), 'is not a compact JWS of an approval'],
    [
      'signs something that is not JSON',
      async () => withStatement((await sign('x')).replace(/\.[^.]*\./, '.eHg.')),
      "is forged or altered: its signature is not that of this cluster's control plane",
    ],
  ];

  it.each(faults)('is refused that %s', async (_, make, fault) => {
    await expect(judge(await make())).resolves.toEqual([`ApprovalInvalid: spec.approval.statement ${fault}; ${ASK}`]);
  });

  it('of a moment to come is waited for, beyond what a clock may be off', async () => {
    await expect(judge(await approved(operation, { iat: SECONDS + 300 }))).resolves.toEqual([]);
    await expect(judge(await approved(operation, { iat: SECONDS + 301 }))).resolves.toEqual([
      "ApprovalMissing: spec.approval.statement is of 2026-03-01T10:05:01.000Z, which is still to come: it is 2026-03-01T10:00:00.000Z by the clock of this cluster; compare that with the control plane's; it is used once that has come",
    ]);
    const forged = await approved(operation, { iat: SECONDS + 301, approvedBy: 'bob' });
    await expect(judge(forged)).resolves.toEqual([expect.stringMatching(/^ApprovalInvalid: .* was given by bob/)]);
  });

  it('is refused that another object used, and not what the object itself used', async () => {
    const usedBy = (jti: string, uid: string | undefined): string | undefined =>
      jti === 'apr-1' && uid !== 'uid-1' ? 'Operation shop/nightly' : undefined;
    const situation = { namespace: aNamespace(), policy, now: NOW, usedBy };
    const object = await approved(operation);
    await expect(
      checkOperation({ ...object, metadata: { ...object.metadata, uid: 'uid-1' } }, situation),
    ).resolves.toEqual([]);
    const again = await checkOperation({ ...object, metadata: { ...object.metadata, uid: 'uid-2' } }, situation);
    expect(again).toEqual([
      {
        reason: 'ApprovalUsed',
        message: `spec.approval.statement was used already, by Operation shop/nightly, and an approval is good for one use; ${ASK}`,
      },
    ]);
  });

  it('counts for whose name only looks like that of the one who asked', async () => {
    await expect(judge(await approved(operation, { approvedBy: 'bobby, rob', requestedBy: 'bob' }))).resolves.toEqual(
      [],
    );
  });

  it('proves nothing while the cluster does not know the key', async () => {
    const violations = await checkOperation(await approved(operation), {
      namespace: aNamespace(),
      policy: { ...policy, signingKeys: [] },
      now: NOW,
    });
    expect(violations.map(({ reason }) => reason)).toEqual(['ApprovalInvalid']);
    expect(violations[0]?.message).toContain('cannot be verified: the control plane has not given this cluster');
  });
});

describe('the hash of an approved spec', () => {
  it('is that of its RFC 8785 form without the approval, whatever the order of its members', () => {
    const hash = 'sha256-VDBc1WaPV8A-26qyL3Gxkv7rwWWEfLmoDXdQyWTqtck';
    expect(approvedSpecHash({ template: 'scale', parameters: { b: 1.0, a: 'x' } })).toBe(hash);
    expect(approvedSpecHash({ approval: { required: true }, parameters: { a: 'x', b: 1 }, template: 'scale' })).toBe(
      hash,
    );
  });
});
