import { expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { apply, operate, uninstall } from '../delivery/gitops/write/rendered-intent.ts';
import { deliver, onServer, startAcme, writerOn } from '../delivery/gitops/write/writer.ts';

it('G7: the same render twice makes no commit and no push, whoever asks, and gives the same receipts', async () => {
  await using server = await startAcme();
  const intents = [apply({}), operate({ template: 'scale', name: 'more' }), uninstall({ name: 'gone' })];
  await using first = writerOn(server);
  const receipts = await deliver(first, intents);
  const tip = await onServer(server, 'rev-parse', 'main');
  await using second = writerOn(server);
  for (const delivery of [first, second]) {
    const again = await deliver(delivery, intents);
    const commits = again.map((receipt) => receipt.state === 'delivered' && receipt.commit);
    expect(commits).toEqual(receipts.map((receipt) => receipt.state === 'delivered' && receipt.commit));
  }
  expect(server.pushes()).toBe(1);
  expect(await onServer(server, 'rev-parse', 'main')).toBe(tip);
  // No commit of ours is empty.
  expect(await onServer(server, 'log', '--format=%T', 'main').then((trees) => new Set(trees.split('\n')).size)).toBe(4);
});

it('G7: a receipt that was lost is found again without a commit, a push or news for the cluster', async () => {
  await using plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  const id = await plane.newCluster('prod-eu');
  const { body } = await plane.call('POST', `/clusters/${id}/intents`, INSTALL);
  const intent = String(body['id']);
  const { receipt } = await plane.until(intent, 'delivered');
  const seen = async (): Promise<unknown> => ({
    moves: await plane.git('reflog', '--format=%H', 'main'),
    cluster: plane.query('SELECT desired_revision, config_revision FROM clusters WHERE id = ?', id),
  });
  const before = await seen();
  await plane.stop();
  // As a crash between the push and its receipt leaves it.
  await plane.execute("UPDATE intents SET state = 'accepted', delivered_at = NULL WHERE id = ?", intent);
  await plane.execute('DELETE FROM receipts WHERE intent_id = ?', intent);
  await plane.startAgain();
  expect((await plane.until(intent, 'delivered'))['receipt']).toEqual(receipt);
  expect(await seen()).toEqual(before);
});
