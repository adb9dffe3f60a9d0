import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';
import { CANCELLED, OperationStage, RUNNING, SUCCEEDED } from './operation-stage.ts';

let plane: RunningControlPlane;
let pull: OperationStage;
let gitops: OperationStage;
let push: OperationStage;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  pull = await OperationStage.create(plane, 'pulled', { connectivityMode: 'pull' });
  gitops = await OperationStage.create(plane, 'in-git', { connectivityMode: 'gitops' });
  push = await OperationStage.create(plane, 'pushed', { connectivityMode: 'push' });
});
afterAll(async () => await plane[Symbol.asyncDispose]());

describe('cancelling an operation', () => {
  it.for(['pull', 'gitops'] as const)(
    'goes by %s as all of it with cancel: true, and both intents end',
    async (mode) => {
      const stage = mode === 'pull' ? pull : gitops;
      const id = await stage.ask('stopped', { deadlineSeconds: 60, reason: 'a first try' });
      await stage.until(id, 'delivered');
      await stage.tell('stopped', id, [RUNNING]);
      await stage.until(id, 'applied');
      const asked = await stage.cancel(id, { reason: 'wrong image' });
      expect(asked).toMatchObject({ status: 202, body: { id, state: 'applied', cancellation: { generation: 2 } } });
      const { id: by } = asked.body['cancellation'] as { id: string };
      await stage.until(by, 'delivered');
      expect(await stage.stateOf(id)).toBe('applied');
      // Twice is once, by either id.
      expect((await stage.cancel(id)).body['cancellation']).toMatchObject({ id: by, generation: 2 });
      expect((await stage.cancel(by)).body['cancellation']).toMatchObject({ id: by, generation: 2 });
      if (mode === 'pull') {
        expect(await stage.jobs()).toMatchObject([
          {
            intentId: by,
            spec: { template: 'run-job', parameters: { image: 'busybox:1' }, deadlineSeconds: 60, cancel: true },
          },
        ]);
      }
      await stage.tell('stopped', by, [CANCELLED], { generation: 2 });
      expect(await stage.stateOf(id)).toBe('failed OperationCancelled: as told');
      expect(await stage.stateOf(by)).toBe('ready');
      expect(await stage.cancel(id)).toMatchObject({ status: 202, body: { cancellation: { id: by, state: 'ready' } } });
      const { body: audit } = await plane.call('GET', '/audit?kind=OperationCancelled&limit=1');
      expect(audit['items']).toMatchObject([
        { actor: 'admin', reason: 'wrong image', summary: expect.stringContaining(id) },
      ]);
    },
  );

  it('ends one whose operation had ended first, whichever of the two the report names', async () => {
    for (const name of ['late-a', 'late-b']) {
      const id = await pull.ask(name);
      await pull.until(id, 'delivered');
      await pull.tell(name, id, [RUNNING]);
      const { id: by } = (await pull.cancel(id)).body['cancellation'] as { id: string };
      await pull.until(by, 'delivered');
      await pull.tell(name, name === 'late-a' ? id : by, [SUCCEEDED]);
      expect(await pull.stateOf(id)).toBe('ready');
      expect(await pull.stateOf(by)).toMatch(
        /^failed EndedFirst: the operation was not stopped; it ended OperationSucceeded/,
      );
    }
  });

  it('is refused of one that has ended, saying how, and of what is no operation', async () => {
    const id = await pull.ask('done');
    await pull.until(id, 'delivered');
    await pull.tell('done', id, [SUCCEEDED]);
    expect(await pull.cancel(id)).toMatchObject({
      status: 409,
      body: {
        error: 'conflict',
        message: expect.stringMatching(
          /shop\/done .* has ended: Succeeded: OperationSucceeded: as told \(2026-11-28T10:00:00Z\)/,
        ),
        state: 'ready',
      },
    });
    const { body } = await plane.call('POST', '/clusters/pulled/intents', INSTALL);
    expect(await pull.cancel(String(body['id']))).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('only operations are cancelled') },
    });
    expect((await pull.cancel('int-nobody')).status).toBe(404);
  });

  it('is offered alone to a cluster that was away: the operation never begins', async () => {
    const id = await pull.ask('away');
    await pull.until(id, 'delivered');
    const { id: by } = (await pull.cancel(id)).body['cancellation'] as { id: string };
    await pull.until(by, 'delivered');
    expect((await pull.jobs()).filter(({ intentId }) => intentId === id)).toEqual([]);
    const [job] = (await pull.jobs()).filter(({ intentId }) => intentId === by);
    await pull.tell('away', by, [CANCELLED]);
    const result = {
      outcome: 'failed',
      error: 'OperationCancelled: as told',
      appliedRef: { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', namespace: 'shop', name: 'away' },
    };
    expect((await pull.agent.post(`/api/agent/jobs/${job?.id}/result`, result)).status).toBe(204);
    expect([await pull.stateOf(id), await pull.stateOf(by)]).toEqual(['failed OperationCancelled: as told', 'ready']);
  });

  it('goes in the place of one that may have left, which then is never delivered by itself', async () => {
    // The cluster has no push credential: both wait.
    const id = await push.ask('waits');
    const { id: by } = (await push.cancel(id)).body['cancellation'] as { id: string };
    expect(plane.query("SELECT id FROM intents WHERE name = 'waits' ORDER BY generation")).toEqual([
      { id },
      { id: by },
    ]);
    expect([await push.stateOf(id), await push.stateOf(by)]).toEqual(['accepted', 'accepted']);
  });

  it('is delivered in the place of one that waits for a repository, and ends both', async () => {
    await plane.execute("UPDATE clusters SET delivery_held = 1 WHERE slug = 'in-git'");
    const id = await gitops.ask('in-place');
    const { id: by } = (await gitops.cancel(id)).body['cancellation'] as { id: string };
    await plane.execute("UPDATE clusters SET delivery_held = 0 WHERE slug = 'in-git'");
    // Wakes the delivery.
    const other = await gitops.ask('beside');
    await gitops.until(other, 'delivered');
    await gitops.until(by, 'delivered');
    expect(await gitops.stateOf(id)).toBe('delivered');
    expect(plane.query('SELECT intent_id FROM receipts WHERE intent_id IN (?, ?)', id, by)).toEqual([
      { intent_id: by },
    ]);
    await gitops.tell('in-place', by, [CANCELLED], { generation: 2 });
    expect([await gitops.stateOf(id), await gitops.stateOf(by)]).toEqual([
      'failed OperationCancelled: as told',
      'ready',
    ]);
  });

  it('ends at once what no transport can have seen', async () => {
    await plane.execute("UPDATE clusters SET delivery_held = 1 WHERE slug = 'pulled'");
    const id = await pull.ask('held');
    const first = await pull.cancel(id, { reason: 'not today' });
    expect(first).toMatchObject({
      status: 200,
      body: { id, state: 'failed', reason: 'Cancelled: by admin before it was delivered: not today' },
    });
    expect(await pull.cancel(id)).toMatchObject({ status: 200, body: first.body });
    await plane.execute("UPDATE clusters SET delivery_held = 0 WHERE slug = 'pulled'");
    // Nothing of it came to the cluster, so its name is free.
    expect(await pull.ask('held')).toMatch(/^int-/);
  });

  it('closes the proposal of one that is proposed', async () => {
    const stage = await OperationStage.create(plane, 'reviewed', { git: { review: 'proposal' } });
    const id = await stage.ask('proposed');
    await stage.until(id, 'proposed');
    expect(await stage.cancel(id, { reason: 'no' })).toMatchObject({
      status: 200,
      body: { id, state: 'failed', reason: 'Cancelled: by admin before it was delivered: no' },
    });
    const { body } = await plane.call('GET', '/proposals?cluster=reviewed');
    expect(body['items']).toMatchObject([{ intentId: id, state: 'superseded' }]);
    expect((await stage.cancel(id)).status).toBe(200);
  });

  it('keeps its name: an operation runs once', async () => {
    const answer = await plane.call('POST', '/clusters/pulled/intents', {
      action: 'operate',
      namespace: 'shop',
      name: 'stopped',
      operationTemplate: 'run-job',
      parameters: { image: 'a' },
    });
    expect(answer.body['faults']).toMatchObject([
      { path: '/name', message: expect.stringContaining('choose another name, such as stopped-2') },
    ]);
  });

  it('is seen with its operation', async () => {
    const { body } = await plane.call('GET', '/clusters/in-git/operations');
    expect(body['items']).toMatchObject([
      { name: 'beside', phase: 'Pending' },
      { name: 'in-place', phase: 'Cancelled' },
      {
        name: 'stopped',
        template: 'run-job',
        phase: 'Cancelled',
        deadlineSeconds: 60,
        requestedBy: 'admin',
        requestReason: 'a first try',
        finishedAt: '2026-11-28T10:00:00Z',
        intents: [{ state: 'failed' }, { state: 'ready', cancel: true, generation: 2 }],
      },
    ]);
    const { id, intents } = body['items'][2] as { id: string; intents: { id: string }[] };
    for (const name of [id, intents[1]?.id]) {
      expect((await plane.call('GET', `/operations/${name}`)).body).toMatchObject({
        id,
        parameters: { image: 'busybox:1' },
      });
    }
    const page = await plane.call('GET', '/clusters/pulled/operations?limit=2');
    const next = await plane.call('GET', `/clusters/pulled/operations?limit=2&cursor=${page.body['nextCursor']}`);
    const names = [...page.body['items'], ...next.body['items']].map(({ name }: { name: string }) => name);
    expect(names).toEqual(['held', 'held', 'away', 'done']);
    expect((await plane.call('GET', '/operations/int-nobody')).status).toBe(404);
  });
});
