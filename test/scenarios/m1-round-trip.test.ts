import { expect, it } from 'vitest';
import { ModeWorld } from '../support/mode-world/mode-world.ts';
import { begin, deletes, endOf, expectKept, installed, request } from './mode-stage.ts';

const MINUTE_MS = 60_000;
const ROUND = ['push', 'gitops', 'pull'] as const;

it(
  'M1: pull → push → gitops → pull with jobs in flight and a delete pending keeps each UID and deletes once, by one writer',
  { timeout: 240_000 },
  async () => {
    // Upgrades are in flight, and deletes pending, while the switch begins.
    const timing = { upgradeMs: MINUTE_MS, uninstallMs: MINUTE_MS };
    await using world = await ModeWorld.start({ mode: 'pull', timing });
    const fences = watchFences(world);
    let uids = await installed(world, 8);
    const gone: string[] = [];
    for (const [step, mode] of ROUND.entries()) {
      const [going, waiting] = [`app-${step + 1}`, `app-${step + 4}`];
      const updated = await begin(world, {
        action: 'update',
        name: 'app-7',
        chartVersion: step === 1 ? '6.5.0' : '6.6.1',
      });
      const removed = await begin(world, { action: 'uninstall', name: going });
      await world.until(
        `the delete of ${going} to be asked for`,
        async () => await Promise.resolve(deletes(world).includes(`applicationinstances/${going}`) ? true : undefined),
      );
      // Not even delivered when the switch is asked for.
      const late = await begin(world, { action: 'uninstall', name: waiting });
      const changed = await begin(world, { action: 'update', name: 'app-8', values: { ui: { message: mode } } });
      const id = await request(world, mode);
      const end = await endOf(world, id, 'active');
      for (const intent of [updated, changed]) await world.untilIntent(intent, ['ready']);
      for (const intent of [removed, late]) await world.untilIntent(intent, ['removed']);
      gone.push(going, waiting);
      const { [going]: _going, [waiting]: _waiting, ...rest } = uids;
      uids = rest;
      await expectKept(world, mode, uids);
      expect(deletes(world).toSorted()).toEqual(gone.map((name) => `applicationinstances/${name}`).toSorted());
      expect([end['objects'].refused, end['objects'].left]).toEqual([[], []]);
      if (step > 0) expectRevoked(end['credentials'], ROUND[step - 1] === 'push' ? 'push' : 'git-read');
    }
    expect(fences.broken).toEqual([]);
    // What the credentials are now, not only what a switch says of them.
    const { plane } = world.plane;
    expect(plane.query('SELECT state, credential_sealed AS sealed FROM push_credentials')).toEqual([
      { state: 'revoked', sealed: null },
    ]);
    expect(await world.view()).not.toHaveProperty('push.state', 'current');
  },
);

function expectRevoked(credentials: unknown, kind: string): void {
  expect(credentials).toContainEqual(
    expect.objectContaining({ kind, change: 'revoked', at: expect.stringMatching(/^\d{4}-/) }),
  );
}

/** What the database says of the fence at the moment of each write: none is older than its writer has fenced off. */
function watchFences(world: ModeWorld): { readonly broken: string[] } {
  const broken: string[] = [];
  let seen = world.writes.length;
  world.cluster.cluster.sandbox.audit.listen(() => {
    const write = world.writes.length === seen ? undefined : world.writes.at(-1);
    seen = world.writes.length;
    if (write?.pair === undefined) return;
    const [row] = world.plane.plane.query(
      'SELECT delivery_epoch AS epoch, delivery_held AS held, reported_epoch AS reported FROM clusters WHERE id = ?',
      world.clusterId,
    );
    const fenced =
      write.writer === 'service-operator' ? row?.['reported'] : Number(row?.['epoch']) - Number(row?.['held']);
    if (write.pair.epoch < Number(fenced ?? 0)) broken.push(`${JSON.stringify(write)} when ${JSON.stringify(row)}`);
  });
  return { broken };
}
