import { expect, it } from 'vitest';
import type { ConnectivityMode } from '../../src/protocol/connectivity-mode.ts';
import { ModeWorld } from '../support/mode-world/mode-world.ts';
import { begin, deletes, endOf, expectKept, installed, request } from './mode-stage.ts';

const HOURS = 24;
const HOUR_MS = 3_600_000;
const DIRECTIONS: readonly (readonly [ConnectivityMode, ConnectivityMode])[] = [
  ['pull', 'push'],
  ['pull', 'gitops'],
  ['push', 'pull'],
  ['push', 'gitops'],
  ['gitops', 'pull'],
  ['gitops', 'push'],
];

it.each(DIRECTIONS)(
  'M3: an operator that returns a day after a switch %s → %s finds it waiting, and it goes on',
  { timeout: 180_000 },
  async (from, to) => {
    await using world = await ModeWorld.start({ mode: from });
    const { 'app-3': _going, ...uids } = await installed(world, 4);
    const early = deletes(world).length;
    world.line.down();
    const going = await begin(world, { action: 'uninstall', name: 'app-3' });
    const changing = await begin(world, { action: 'update', name: 'app-1', chartVersion: '6.6.1' });
    const id = await request(world, to);
    await world.until('the fence', async () => {
      const { state } = await world.switchOf(id);
      return state === 'fencing' ? true : undefined;
    });
    for (let hour = 0; hour < HOURS; hour += 1) await world.pass(HOUR_MS);
    for (let look = 0; look < 10; look += 1) await world.pass();
    const waiting = await world.switchOf(id);
    expect({ state: waiting['state'], reason: waiting['reason'] }).toEqual({ state: 'fencing', reason: undefined });
    expect(waiting['waitingFor']).toMatch(/^the operator .*epoch \d+/);
    world.line.up();
    await endOf(world, id, 'active');
    await world.untilIntent(changing, ['ready']);
    await world.untilIntent(going, ['removed']);
    await expectKept(world, to, uids);
    expect(deletes(world).slice(early)).toEqual(['applicationinstances/app-3']);
  },
);
