import { describe, expect, it } from 'vitest';
import { approvalNeed } from '../../src/policy/approval-need.ts';
import { checkApplicationInstance } from '../../src/policy/check-application-instance.ts';
import { checkOperation } from '../../src/policy/check-operation.ts';
import { NO_APPROVALS, type ApprovalPolicy } from '../../src/policy/cluster-policy.ts';
import { otherNamespacesOf } from '../../src/policy/other-namespaces.ts';
import type { PolicySituation } from '../../src/policy/policy-violation.ts';
import { anInstance, aNamespace, aPolicy, CLUSTER_ID } from '../reconcile/manifests.ts';
import { anOperation, approved, approvedInstance, claimsFor, controlPlaneKey, NOW, sign } from './signed-approval.ts';

const asking = aNamespace('shop', { annotations: { 'ops.service.io/approval-required': 'true' } });
const OF_BANK = {
  name: 'of-bank',
  run: { template: 'velero-backup', parameters: { includedNamespaces: ['bank'] } },
};
const intent = { annotations: { 'app.service.io/intent-id': 'int-7' } };

function situation(approvals: Partial<ApprovalPolicy> = {}, change: Partial<PolicySituation> = {}): PolicySituation {
  const policy = aPolicy({
    allowedNamespaces: ['shop', 'bank'],
    operationTemplates: ['velero-backup', 'scale'],
    templateDefinitions: [OF_BANK],
    signingKeys: [controlPlaneKey.publicJwk],
    approvals: { ...NO_APPROVALS, ...approvals },
  });
  return { namespace: aNamespace(), policy, now: NOW, ...change };
}

async function reasons(object: ReturnType<typeof anOperation> | ReturnType<typeof anInstance>, by: PolicySituation) {
  const violations =
    object.kind === 'Operation'
      ? await checkOperation(object as ReturnType<typeof anOperation>, by)
      : await checkApplicationInstance(object as ReturnType<typeof anInstance>, by);
  return violations.map(({ reason, message }) => `${reason}: ${message}`);
}

describe('an approval is needed', () => {
  const toScale = anOperation({ template: 'scale', parameters: { name: 'web', replicas: 1 } });
  const cases: readonly [string, Parameters<typeof approvalNeed>, string][] = [
    [
      'by the operation',
      [anOperation({ approval: { required: true } }), situation()],
      'the operation needs an approval',
    ],
    ['by its template', [toScale, situation({ operationTemplates: ['scale'] })], 'operation template scale needs'],
    ['by the catalog entry', [anInstance(), situation({ catalogEntries: ['podinfo'] })], 'catalog entry podinfo needs'],
    [
      'by the namespace of an instance',
      [anInstance(), situation({ namespaces: ['shop'] })],
      'whatever is done in namespace shop',
    ],
    [
      'by the namespace of an operation',
      [toScale, situation({ namespaces: ['shop'] })],
      'whatever is done in namespace shop',
    ],
    [
      'by where an instance goes to',
      [anInstance({ spec: { targetNamespace: 'bank' } }), situation({ namespaces: ['bank'] })],
      'whatever is done in namespace bank',
    ],
    ['by the annotation', [anInstance(), situation({}, { namespace: asking })], 'namespace shop asks for approvals'],
    [
      'by the annotation of where it goes to',
      [
        anInstance({ namespace: 'bank', spec: { targetNamespace: 'shop' } }),
        situation({}, { namespace: aNamespace('bank'), elsewhere: [asking] }),
      ],
      'namespace shop asks for approvals',
    ],
    [
      'by what a restore writes to',
      [
        anOperation({ template: 'velero-restore', parameters: { backup: 'b', namespaceMapping: { shop: 'bank' } } }),
        situation({ namespaces: ['bank'] }),
      ],
      'whatever is done in namespace bank',
    ],
    [
      'by what a backup of an own template reads',
      [anOperation({ template: 'of-bank', parameters: {} }), situation({ namespaces: ['bank'] })],
      'whatever is done in namespace bank',
    ],
  ];
  it.each(cases)('%s', (_, given, why) => {
    expect(approvalNeed(...given)?.why).toContain(why);
  });

  it('by nothing else: another name, another value of the annotation, and what is cancelled', () => {
    const others = { operationTemplates: ['velero-restore'], catalogEntries: ['redis'], namespaces: ['bank'] };
    const off = aNamespace('shop', { annotations: { 'ops.service.io/approval-required': 'false' } });
    for (const object of [toScale, anInstance()]) {
      expect(approvalNeed(object, situation(others, { namespace: off }))).toBeUndefined();
    }
    const cancelled = anOperation({ cancel: true, approval: { required: true } });
    expect(approvalNeed(cancelled, situation({ operationTemplates: ['velero-backup'] }))).toBeUndefined();
  });

  it('and says who can give it, or how the control plane comes to know', async () => {
    const by = situation({ catalogEntries: ['podinfo'] });
    await expect(reasons({ ...anInstance(), metadata: { ...anInstance().metadata, ...intent } }, by)).resolves.toEqual([
      'ApprovalMissing: catalog entry podinfo needs an approval on this cluster and there is none; nobody in the cluster can approve it; somebody else than who asked does at the control plane with: servicectl operations approve int-7; where that intent waits for no approval, ask for it anew',
    ]);
    await expect(reasons(anInstance(), situation({}, { namespace: asking }))).resolves.toEqual([
      `ApprovalMissing: namespace shop asks for approvals (annotation ops.service.io/approval-required) and there is none; the control plane does not see that annotation: an admin of the control plane adds to approvalNamespaces with: PATCH /api/v1/clusters/${CLUSTER_ID} (shop), and the intent is asked for anew`,
    ]);
  });
});

describe('the approval of an instance', () => {
  const by = situation({ catalogEntries: ['podinfo'] });

  it('stands in its annotation, for its very spec', async () => {
    const instance = await approvedInstance(anInstance());
    await expect(reasons(instance, by)).resolves.toEqual([]);
    const changed = { ...instance, spec: { ...instance.spec, values: { replicas: 9 } } };
    const [refusal = '', ...more] = await reasons(changed, by);
    expect(more).toEqual([]);
    expect(refusal).toMatch(
      /^ApprovalInvalid: annotation app\.service\.io\/approval is for another spec; this one is not as it was approved; ask/,
    );
  });

  it('is none for an operation of the same name, nor that for the instance', async () => {
    const operation = anOperation({}, { name: 'podinfo' });
    const required = situation({ namespaces: ['shop'] });
    const statement = await sign(claimsFor(anInstance()));
    const carrying = anOperation({ approval: { required: true, statement } }, { name: 'podinfo' });
    const [one = ''] = await reasons(carrying, required);
    expect(one).toContain('ApprovalInvalid: spec.approval.statement is for another spec');
    const other = await sign(claimsFor(operation));
    const { annotations } = anInstance().metadata;
    const instance = {
      ...anInstance(),
      metadata: { ...anInstance().metadata, annotations: { ...annotations, 'app.service.io/approval': other } },
    };
    const [two = ''] = await reasons(instance, required);
    expect(two).toContain('ApprovalInvalid: annotation app.service.io/approval is for another spec');
  });

  it('allows to suspend what was approved and to let it go on, and no more', async () => {
    const instance = await approvedInstance(anInstance());
    for (const suspend of [true, false]) {
      await expect(reasons({ ...instance, spec: { ...instance.spec, suspend } }, by)).resolves.toEqual([]);
    }
    const held = await approvedInstance(anInstance({ spec: { suspend: true } }));
    await expect(reasons(held, by)).resolves.toEqual([]);
    const { suspend: _suspend, ...going } = held.spec;
    for (const spec of [going, { ...going, suspend: false }]) {
      const [refusal = ''] = await reasons({ ...held, spec }, by);
      expect(refusal).toContain('is for another spec');
    }
  });

  it('is not needed any more once its very spec is released', async () => {
    const late = await approvedInstance(anInstance(), { exp: NOW.getTime() / 1000 });
    const releasedSpec = claimsFor(late).specHash;
    await expect(reasons(late, { ...by, releasedSpec })).resolves.toEqual([]);
    await expect(reasons(anInstance(), { ...by, releasedSpec })).resolves.toEqual([]);
    const [refusal = ''] = await reasons(
      { ...late, spec: { ...late.spec, values: { a: 1 } } },
      { ...by, releasedSpec },
    );
    expect(refusal).toContain('ApprovalInvalid');
  });
});

describe('what was asked for and nobody approved', () => {
  const hash = claimsFor(anInstance()).specHash;
  const by = situation({ pending: [`shop/podinfo@${hash}`] });

  it('stays unapproved when nothing asks for an approval any more', async () => {
    const [refusal = '', ...more] = await reasons(anInstance(), by);
    expect(more).toEqual([]);
    expect(refusal).toContain('ApprovalMissing: an approval was asked for when this was, and nobody has given it');
    await expect(reasons(anInstance({ spec: { suspend: false } }), by)).resolves.toHaveLength(1);
    await expect(reasons(await approvedInstance(anInstance()), by)).resolves.toEqual([]);
  });

  it('is that very spec of that very object', async () => {
    await expect(reasons(anInstance({ spec: { values: { replicas: 2 } } }), by)).resolves.toEqual([]);
    await expect(reasons(anInstance({ name: 'other' }), by)).resolves.toEqual([]);
  });
});

describe('an approval that came apart', () => {
  it('counts for its object and spec, and for nothing else', async () => {
    const required = { required: true } as const;
    const operation = anOperation({ approval: required });
    const others = [
      await sign(claimsFor(anOperation({ template: 'scale' }))),
      await sign(claimsFor(operation, { name: 'weekly' })),
      'nonsense',
    ];
    const right = await sign(claimsFor(operation));
    await expect(reasons(operation, situation({ statements: [...others, right] }))).resolves.toEqual([]);
    await expect(reasons(operation, situation({ statements: others }))).resolves.toEqual([
      expect.stringContaining('ApprovalMissing'),
    ]);
    const late = await sign(claimsFor(operation, { exp: 1 }));
    await expect(reasons(operation, situation({ statements: [late] }))).resolves.toEqual([
      expect.stringContaining('ApprovalInvalid: the approval that the control plane sent for it expired at'),
    ]);
  });

  it('counts beside one of its own that does not', async () => {
    const operation = await approved(anOperation(), { exp: 1 });
    const right = await sign(claimsFor(anOperation()));
    await expect(reasons(operation, situation({ statements: [right] }))).resolves.toEqual([]);
  });
});

describe('the other namespaces are', () => {
  const none = {};

  it('those of the target, where it differs', () => {
    expect(otherNamespacesOf(anInstance(), none)).toEqual([]);
    expect(otherNamespacesOf(anInstance({ spec: { targetNamespace: 'shop' } }), none)).toEqual([]);
    expect(otherNamespacesOf(anInstance({ spec: { targetNamespace: 'bank' } }), none)).toEqual(['bank']);
    const targetRef = { kind: 'Deployment', name: 'web', namespace: 'bank' };
    expect(otherNamespacesOf(anOperation({ targetRef }), none)).toEqual(['bank']);
  });

  it('all that Velero is let at, each once, and not what another template calls alike', () => {
    const parameters = { includedNamespaces: ['shop', 'yard'], namespaceMapping: { yard: 'bank', vault: 'shop' } };
    const named = ['yard', 'bank', 'vault'];
    expect(otherNamespacesOf(anOperation({ template: 'velero-restore', parameters }), none)).toEqual(named);
    expect(otherNamespacesOf(anOperation({ template: 'run-job', parameters }), none)).toEqual([]);
  });
});
