import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideReview } from '../../src/operator/webhook/decide-review.ts';
import type { Approvable } from '../../src/policy/approval-need.ts';
import { checkApplicationInstance } from '../../src/policy/check-application-instance.ts';
import { checkOperation } from '../../src/policy/check-operation.ts';
import { NO_APPROVALS } from '../../src/policy/cluster-policy.ts';
import { operatorAccounts, serviceAccountName } from '../../src/policy/operator-accounts.ts';
import { refusalText, type PolicySituation } from '../../src/policy/policy-violation.ts';
import { generateSigningKey } from '../../src/protocol/signing-key.ts';
import type { ApplicationInstance } from '../../src/resources/application-instance.ts';
import type { Operation } from '../../src/resources/operation.ts';
import { takeApproval, type ApprovalMemory } from '../../src/reconcile/take-approval.ts';
import { anInstance, aNamespace, aPolicy } from '../reconcile/manifests.ts';
import { anOperation, claimsFor, controlPlaneKey, NOW, sign } from './signed-approval.ts';

const SECONDS = NOW.getTime() / 1000;
const ACCOUNTS = operatorAccounts('service-system', serviceAccountName('service-system', 'service-operator'));
const PUSH = { username: serviceAccountName('service-system', 'service-control-plane') };
const otherKey = generateSigningKey();
const policy = aPolicy({
  operationTemplates: ['velero-backup'],
  signingKeys: [controlPlaneKey.publicJwk],
  approvals: { ...NO_APPROVALS, namespaces: ['shop'] },
});
const situation: PolicySituation = { namespace: aNamespace(), policy, now: NOW };
const signal = new AbortController().signal;
const objects: readonly Approvable[] = [anOperation(), anInstance({ name: 'nightly' })];

function carrying(object: Approvable, statement: string): Approvable {
  if (object.kind === 'Operation') {
    const operation = object as Operation;
    return { ...operation, spec: { ...operation.spec, approval: { required: true, statement } } };
  }
  const { annotations, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...annotations, 'app.service.io/approval': statement } },
  };
}

async function check(object: Approvable, by: PolicySituation) {
  return object.kind === 'Operation'
    ? await checkOperation(object as Operation, by)
    : await checkApplicationInstance(object as ApplicationInstance, by);
}

const seconds = fc.integer({ min: -10_000_000, max: 10_000_000 });
/** Each makes of a good statement one that approves nothing of ours. */
const claimChanges = fc.oneof(
  fc.string({ minLength: 1, maxLength: 64 }).map((id) => ({ cluster_id: `x${id}` })),
  fc.string({ minLength: 1, maxLength: 60 }).map((name) => ({ name: `x${name}` })),
  fc.string({ minLength: 1, maxLength: 60 }).map((namespace) => ({ namespace: `x${namespace}` })),
  fc.string({ minLength: 1, maxLength: 60 }).map((hash) => ({ specHash: `sha256-${hash}` })),
  seconds.map((by) => ({ exp: SECONDS - Math.abs(by) })),
  seconds.map((by) => ({ iat: SECONDS + 61 + Math.abs(by), exp: SECONDS + 20_000_000 })),
  seconds.map((by) => ({ exp: SECONDS - 60 + 7 * 86_400 + 1 + Math.abs(by) })),
  fc.constantFrom('bob', 'bob, ada', 'ada, bob', 'ada, bob, eve').map((approvedBy) => ({ approvedBy })),
  fc.constantFrom('cluster_id', 'namespace', 'name', 'specHash', 'approvedBy', 'iat', 'exp', 'jti').map((claim) => ({
    [claim]: undefined,
  })),
  fc
    .constantFrom('cluster_id', 'name', 'jti', 'iat', 'exp')
    .chain((claim) => fc.constantFrom<unknown[]>(null, [], {}, true, 1.5, '').map((value) => ({ [claim]: value }))),
);

describe('a statement', () => {
  it('whose claims are changed in any way approves nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...objects), claimChanges, async (object, change) => {
        const statement = await sign({ ...claimsFor(object), ...change });
        const reasons = (await check(carrying(object, statement), situation)).map(({ reason }) => reason);
        expect(reasons).toEqual(['ApprovalInvalid']);
      }),
      { numRuns: 300 },
    );
  });

  it('of which a single character is changed, left out or added approves nothing', async () => {
    const good = await Promise.all(objects.map(async (object) => await sign(claimsFor(object))));
    const edit = fc.record({
      which: fc.nat(objects.length - 1),
      at: fc.nat(10_000),
      by: fc.constantFrom('', 'A', 'z', '0', '-', '_', '.', ' ', 'é', 'AA'),
      cut: fc.nat(1),
    });
    await fc.assert(
      fc.asyncProperty(edit, async ({ which, at, by, cut }) => {
        const [object = anOperation(), text = ''] = [objects[which], good[which]];
        const place = at % text.length;
        const edited = text.slice(0, place) + by + text.slice(place + cut);
        const violations = await check(carrying(object, edited), situation);
        // The last character of base64url has bits that say nothing; what it says is the same then.
        const says = (jws: string): string =>
          jws
            .split('.')
            .map((part) => Buffer.from(part, 'base64url').toString('hex'))
            .join('.');
        const isSame = says(edited) === says(text) && !/[^\w.-]/.test(edited);
        if (!isSame) expect(violations.map(({ reason }) => reason)).toEqual(['ApprovalInvalid']);
      }),
      { numRuns: 500 },
    );
  });

  it('signed by any other key, under whatever key id and header, approves nothing', async () => {
    const header = fc.record(
      {
        kid: fc.constantFrom(controlPlaneKey.kid, otherKey.kid, '', 'k'),
        typ: fc.constantFrom('JWT', 'jose'),
        jwk: fc.constant(otherKey.publicJwk),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...objects), header, async (object, members) => {
        const statement = await sign(claimsFor(object), { key: otherKey, header: members });
        const reasons = (await check(carrying(object, statement), situation)).map(({ reason }) => reason);
        expect(reasons).toEqual(['ApprovalInvalid']);
      }),
      { numRuns: 100 },
    );
  });
});

const statements = fc.constantFrom('none', 'good', 'late', 'of another', 'by who asked', 'used');
const situations = fc.record({
  object: fc.constantFrom(...objects),
  statement: statements,
  apart: statements,
  asked: fc.constantFrom<'namespace' | 'annotation' | 'nobody'>('namespace', 'annotation', 'nobody'),
});

it('the webhook, the check of the reconcile and the use of an approval come to the same answer', async () => {
  const changes = {
    none: {},
    good: { jti: 'good' },
    late: { exp: SECONDS },
    'of another': { name: 'other' },
    'by who asked': { approvedBy: 'bob' },
    used: { jti: 'used' },
  };
  const usedBy = (jti: string): string | undefined => (jti === 'used' ? 'Operation shop/other' : undefined);
  await fc.assert(
    fc.asyncProperty(situations, async ({ object, statement, apart, asked }) => {
      const made = async (kind: keyof typeof changes) => await sign({ ...claimsFor(object), ...changes[kind] });
      const given = statement === 'none' ? object : carrying(object, await made(statement));
      const approvals = {
        ...NO_APPROVALS,
        namespaces: asked === 'namespace' ? ['shop'] : [],
        statements: apart === 'none' ? [] : [await made(apart)],
      };
      const annotations = asked === 'annotation' ? { 'ops.service.io/approval-required': 'true' } : {};
      const namespace = aNamespace('shop', { annotations });
      const by: PolicySituation = { namespace, policy: { ...policy, approvals }, now: NOW, usedBy };

      const violations = await check(given, by);
      const resource = object.kind === 'Operation' ? 'operations' : 'applicationinstances';
      const group = object.kind === 'Operation' ? 'ops.service.io' : 'apps.service.io';
      const answer = await decideReview(
        {
          uid: 'r',
          operation: 'CREATE',
          resource: { group, version: 'v1alpha1', resource },
          userInfo: PUSH,
          object: given,
        },
        { accounts: ACCOUNTS, policy: () => by.policy, namespaces: () => () => namespace, now: () => NOW, usedBy },
      );
      expect(answer.message ?? '').toBe(refusalText(violations));

      const consumed: string[] = [];
      const memory: ApprovalMemory = {
        usedBy,
        consume: async ({ jti }) => {
          consumed.push(jti);
          return await Promise.resolve({ state: 'ok' });
        },
        withdraw: async () => await Promise.resolve(),
      };
      const taken = await takeApproval(memory, given, by, signal);
      expect(taken.violations).toEqual(violations);
      const isNeeded = asked !== 'nobody' || (object.kind === 'Operation' && statement !== 'none');
      const isGiven = statement === 'good' || apart === 'good';
      expect([violations.length, consumed]).toEqual([
        isNeeded && !isGiven ? 1 : 0,
        isNeeded && isGiven ? ['good'] : [],
      ]);
    }),
    { numRuns: 200 },
  );
});
