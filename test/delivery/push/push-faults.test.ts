import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Receipt } from '../../../src/delivery/delivery.ts';
import type { Fault } from '../../../src/sandbox/faults.ts';
import { startSandbox, type Sandbox } from '../../../src/sandbox/start-sandbox.ts';
import { StatusError } from '../../../src/sandbox/status-error.ts';
import { withdrawMark } from '../../../src/kube/withdraw-mark.ts';
import { APP, item, ownersOf, PushStage } from '../../support/push/push-stage.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';

let sandbox: Sandbox;
let stage: PushStage;

beforeAll(async () => {
  sandbox = await startSandbox();
  stage = await PushStage.start(async () => ({
    kubeconfig: sandbox.kubeconfig(),
    [Symbol.asyncDispose]: async () => await sandbox[Symbol.asyncDispose](),
  }));
});
afterAll(async () => await stage[Symbol.asyncDispose]());
afterEach(() => {
  sandbox.faults.clear();
  void stage.writes;
});

/** Only of our kinds: the rest of the stage works. */
function fail(method: string, fault: Omit<Fault, 'match'>): void {
  sandbox.faults.add({
    ...fault,
    match: (request) => request.method === method && /\/(applicationinstances|operations)/.test(request.path),
  });
}

function denial(status: number, reason: string, message: string): Omit<Fault, 'match'> {
  return { respond: new StatusError(status, reason, message, {}) };
}

async function receiptOf(name: string): Promise<Receipt | undefined> {
  return (await stage.deliver(item({ name })))[0];
}

it.each([
  [
    'a credential that is not accepted any more',
    denial(401, 'Unauthorized', 'Unauthorized'),
    'does not accept the push credential',
  ],
  [
    'rights that are missing in a namespace',
    denial(
      403,
      'Forbidden',
      'applicationinstances.apps.service.io "x" is forbidden: User "u" cannot patch resource "applicationinstances" in API group "apps.service.io" in the namespace "shop"',
    ),
    'servicectl clusters push-access',
  ],
  [
    'a webhook that cannot be asked',
    denial(400, 'BadRequest', 'failed calling webhook "policy.example": no endpoints available'),
    'failed calling webhook',
  ],
  [
    "the operator's webhook, where a namespace is not labelled",
    denial(
      403,
      'Forbidden',
      'admission webhook "w" denied the request: namespace shop is not labelled for the operator; a cluster admin runs: kubectl label namespace shop managed-by=service',
    ),
    'managed-by=service',
  ],
  [
    "the operator's webhook, where an approval is still to come",
    {
      respond: new StatusError(
        403,
        'Forbidden',
        'admission webhook "w" denied the request: namespace shop asks for approvals and there is none',
        { causes: [{ reason: 'ApprovalMissing' }] },
      ),
    },
    'asks for approvals and there is none',
  ],
  [
    'a namespace that is being deleted',
    denial(
      403,
      'Forbidden',
      'x is forbidden: unable to create new content in namespace shop because it is being terminated',
    ),
    'being terminated',
  ],
] as const)('waits for the end of %s', async (_name, fault, said) => {
  fail('PATCH', fault);
  expect(await receiptOf('waits')).toMatchObject({ state: 'retry', message: expect.stringContaining(said) });
  expect(await stage.read('waits')).toBeUndefined();
});

it.each([
  [
    'a webhook that says no',
    denial(403, 'Forbidden', 'admission webhook "policy.example" denied the request: no'),
    'ApplyFailed',
  ],
  [
    'a server that finds the object invalid',
    denial(422, 'Invalid', 'x is invalid: spec.chart: Required value'),
    'ApplyFailed',
  ],
  [
    'an object that is too large to be stored',
    denial(413, 'RequestEntityTooLarge', 'etcdserver: request is too large'),
    'ManifestTooLarge',
  ],
] as const)('refuses for %s', async (_name, fault, reason) => {
  fail('PATCH', fault);
  expect(await receiptOf('refused')).toMatchObject({ state: 'refused', reason });
});

it('lets the target wait, and not one object, where the credential or the server is at fault', async () => {
  fail('PATCH', denial(401, 'Unauthorized', 'Unauthorized'));
  const receipts = await stage.deliver(
    item({ name: 'a' }),
    item({ name: 'b', id: 'int-2' }),
    item({ name: 'c', id: 'int-3' }),
  );
  expect(receipts.map((receipt) => [receipt.intentId, receipt.state, 'alone' in receipt])).toEqual([
    ['int-1', 'retry', false],
    ['int-2', 'retry', false],
    ['int-3', 'retry', false],
  ]);
  // The second and the third were not tried.
  expect(stage.writes).toBe(1);
});

it('lets the objects of a namespace without rights wait alone, and delivers the others', async () => {
  sandbox.faults.add({
    ...denial(
      403,
      'Forbidden',
      'x is forbidden: User "u" cannot patch resource "applicationinstances" in the namespace "shop"',
    ),
    match: ({ method, path }) => method === 'PATCH' && path.endsWith('/denied'),
  });
  const receipts = await stage.deliver(item({ name: 'denied' }), item({ name: 'open', id: 'int-2' }));
  expect(receipts).toMatchObject([
    { intentId: 'int-1', state: 'retry', alone: true },
    { intentId: 'int-2', state: 'delivered' },
  ]);
});

it('recognises what was carried out when its answer was lost', async () => {
  fail('PATCH', { cut: 'after', times: 1 });
  expect(await receiptOf('lost')).toMatchObject({ state: 'delivered' });
  expect((await stage.read('lost'))?.metadata.generation).toBe(1);
});

it('takes its mark back where the delete is refused: a later deletion by hand uninstalls nothing', async () => {
  await stage.deliver(item({ name: 'guarded' }));
  const before = await stage.read('guarded');
  fail('DELETE', denial(403, 'Forbidden', 'admission webhook "guard.example" denied the request: not on a Friday'));
  const end = item({ action: 'uninstall', id: 'int-2', generation: 2, name: 'guarded' });
  expect(await stage.deliver(end)).toMatchObject([
    { state: 'refused', reason: 'DeleteFailed', message: expect.stringContaining('not on a Friday') },
  ]);
  const after = await stage.admin.get<KubeObject>({ ...APP, name: 'guarded' });
  expect(after?.metadata.annotations).toEqual(before?.metadata.annotations);
  expect(Object.keys(ownersOf(after as KubeObject))).toEqual(['service-control-plane Apply']);
  sandbox.faults.clear();
  expect(await stage.deliver(item({ action: 'update', id: 'int-3', generation: 3, name: 'guarded' }))).toMatchObject([
    { state: 'delivered' },
  ]);
});

it('takes back a mark of an earlier try, whose delete had no answer, and none off an object that is being deleted', async () => {
  for (const name of ['late', 'going']) await stage.deliver(item({ name }));
  const end = (name: string) => item({ action: 'uninstall', id: 'int-2', generation: 2, name });
  const markOf = async (name: string) => (await stage.read(name))?.metadata.annotations?.['app.service.io/tombstone'];
  fail('DELETE', denial(500, 'InternalError', 'no'));
  for (const name of ['late', 'going']) expect(await stage.deliver(end(name))).toMatchObject([{ state: 'retry' }]);
  sandbox.faults.clear();
  const ref = { ...APP, name: 'going' };
  await stage.admin.mergePatch(ref, { metadata: { finalizers: ['app.service.io/release'] } });
  const marked = (await stage.read('going')) as KubeObject;
  await stage.admin.delete(ref);
  // By what was read before it was deleted: the patch is refused, and the object is looked at anew.
  await withdrawMark(stage.admin, marked, 'service-operator-meta');
  expect(await markOf('going')).toBe('int-2');
  fail('DELETE', denial(403, 'Forbidden', 'admission webhook "guard.example" denied the request: not on a Friday'));
  expect(await stage.deliver(end('late'))).toMatchObject([{ state: 'refused' }]);
  expect(await markOf('late')).toBeUndefined();
  sandbox.faults.clear();
  await stage.admin.mergePatch(ref, { metadata: { finalizers: null } });
});

it('delivers an update after all where the uninstall behind it in the same batch is refused', async () => {
  await stage.deliver(item({ name: 'friday' }));
  fail('DELETE', denial(403, 'Forbidden', 'admission webhook "guard.example" denied the request: not on a Friday'));
  const receipts = await stage.deliver(
    item({ action: 'update', id: 'int-2', generation: 2, name: 'friday' }),
    item({ action: 'uninstall', id: 'int-3', generation: 3, name: 'friday' }),
  );
  expect(receipts.map(({ intentId, state }) => [intentId, state])).toEqual([
    ['int-3', 'refused'],
    ['int-2', 'delivered'],
  ]);
  expect((await stage.read('friday'))?.metadata.annotations?.['app.service.io/source']).toBe('2.2');
});

it('says whether it can write: ready, forbidden, unreachable', async () => {
  const signal = AbortSignal.timeout(30_000);
  expect(await stage.delivery.probe(signal)).toEqual({ state: 'ready' });
  sandbox.faults.add({ match: ({ path }) => path.endsWith('/clusters'), ...denial(403, 'Forbidden', 'no') });
  expect(await stage.delivery.probe(signal)).toEqual({ state: 'forbidden', message: 'no' });
});
