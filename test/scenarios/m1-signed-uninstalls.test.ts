import { expect, it } from 'vitest';
import { ModeWorld } from '../support/mode-world/mode-world.ts';
import { begin, deletes, endOf, expectKept, installed, request } from './mode-stage.ts';

const MARK = 'app.service.io/tombstone';
const SAID = 'applicationinstances.apps.service.io "app-1" is forbidden: User "push" cannot delete resource';
const DENIED = { status: 403, body: JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message: SAID }) };

it('M1: an uninstall of push mode accuses nobody of tampering, however long its delete takes, on a cluster that requires signatures', async () => {
  await using world = await ModeWorld.start({ mode: 'pull' });
  await world.cluster.setSpec({ security: { requireSignedPayloads: true } });
  const { sandbox } = world.cluster.cluster;
  const accused: string[] = [];
  sandbox.audit.listen(({ path, body }) => {
    if (path.endsWith('/status') && body.includes('"SignatureInvalid"')) accused.push(path);
  });
  const { 'app-3': kept = '', ...uids } = await installed(world, 3);
  await endOf(world, await request(world, 'push'), 'active');

  sandbox.faults.add({
    match: ({ method, path, userAgent }) =>
      method === 'DELETE' && path.endsWith('/app-1') && userAgent?.startsWith('service-control-plane') === true,
    respond: DENIED,
  });
  const held = await begin(world, { action: 'uninstall', name: 'app-1' });
  await world.until('the mark', async () => {
    const live = await world.cluster.cluster.api.get(world.ref('app-1'));
    return live?.metadata.annotations?.[MARK] === held || undefined;
  });
  // What comes later is looked at later: by then the operator has seen the mark.
  const update = { action: 'update', name: 'app-3', values: { ui: { message: 'later' } } };
  await world.untilIntent(await begin(world, update), ['ready']);
  await world.untilIntent(await begin(world, { action: 'uninstall', name: 'app-2' }), ['removed']);
  expect((await world.uids())['app-1']).toBe(uids['app-1']);
  // The mark is left where the switch finds it: the way that comes deletes.
  await endOf(world, await request(world, 'pull'), 'active');
  await world.untilIntent(held, ['removed']);
  expect(accused).toEqual([]);
  await expectKept(world, 'pull', { 'app-3': kept });
  expect(deletes(world)).toContain('applicationinstances/app-1');

  // The check itself stands, on an object that somebody has marked too.
  const edit = { metadata: { annotations: { [MARK]: 'int-x' } }, spec: { values: { ui: { message: 'not ours' } } } };
  await world.cluster.cluster.api.mergePatch(world.ref('app-3'), edit, { fieldManager: 'service-control-plane-meta' });
  await world.until('the alarm', async () => await Promise.resolve(accused.length > 0 || undefined));
}, 240_000);
