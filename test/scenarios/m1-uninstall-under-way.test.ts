import { expect, it } from 'vitest';
import { madeObjects } from '../support/mode-world/made-objects.ts';
import { ModeWorld } from '../support/mode-world/mode-world.ts';
import { begin, deletes, endOf, expectKept, installed, request } from './mode-stage.ts';

const MINUTE_MS = 60_000;
const GOING = ['app-1', 'app-2'] as const;

const areAsked = (world: ModeWorld): boolean =>
  GOING.every((name) => deletes(world).includes(`applicationinstances/${name}`));

/** Asks for the uninstalls and then for the switch, all of it while the operator is dead; answers the ids of all three. */
async function askWhileAway(world: ModeWorld): Promise<{ readonly intents: readonly string[]; readonly back: string }> {
  world.operator.kill();
  const cluster = `/clusters/${world.clusterId}`;
  const ask = async (path: string, body: unknown): Promise<Record<string, unknown>> => {
    const answer = await world.plane.plane.call('POST', cluster + path, body);
    expect(answer).toMatchObject({ status: 202 });
    return answer.body;
  };
  const intents: string[] = [];
  for (const name of GOING) {
    intents.push(String((await ask('/intents', { namespace: 'shop', action: 'uninstall', name }))['id']));
  }
  for (let look = 0; look < 1000 && !areAsked(world); look += 1) await world.pass();
  expect(areAsked(world)).toBe(true);
  const { switch: back } = (await ask('/mode', { mode: 'gitops' })) as { readonly switch: { readonly id: string } };
  return { intents, back: back.id };
}

it.each(['that the operator is at', 'that the operator has not seen'] as const)(
  'M1: uninstalls of push mode %s go on to their end where the directory in Git still has the files',
  async (way) => {
    await using world = await ModeWorld.start({ mode: 'gitops', timing: { uninstallMs: MINUTE_MS } });
    const orphaned: string[] = [];
    world.cluster.cluster.sandbox.audit.listen(({ path, body }) => {
      if (path.endsWith('/status') && body.includes('"Orphaned"')) orphaned.push(path);
    });
    const secretValues = { ui: { message: 'a secret' } };
    const { 'app-3': kept = '' } = await installed(world, 3, { secretValues });
    const before = await madeObjects(world);
    expect(before).toHaveLength(9);
    await endOf(world, await request(world, 'push'), 'active');

    let intents: readonly string[];
    let back: string;
    if (way === 'that the operator has not seen') {
      ({ intents, back } = await askWhileAway(world));
    } else {
      intents = await Promise.all(GOING.map(async (name) => await begin(world, { action: 'uninstall', name })));
      await world.until('the deletes', async () => await Promise.resolve(areAsked(world) || undefined));
      back = await request(world, 'gitops');
    }
    for (const [index, id] of intents.entries()) {
      await world.untilIntent(id, ['removed']);
      // Not told before it is so.
      expect(await madeObjects(world)).not.toContainEqual(expect.objectContaining({ app: GOING[index] }));
    }
    await endOf(world, back, 'active');
    expect(await madeObjects(world)).toEqual(before.filter(({ app }) => app === 'app-3'));
    expect(orphaned).toEqual([]);
    await expectKept(world, 'gitops', { 'app-3': kept });
  },
  240_000,
);
