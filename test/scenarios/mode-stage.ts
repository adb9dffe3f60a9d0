import { expect } from 'vitest';
import type { ConnectivityMode } from '../../src/protocol/connectivity-mode.ts';
import { FIELD_MANAGER, PUSH_FIELD_MANAGER } from '../../src/resources/labels.ts';
import type { Answer } from '../control-plane/running-control-plane.ts';
import { payloadManagers } from '../support/mode-world/judge-world.ts';
import type { ModeWorld } from '../support/mode-world/mode-world.ts';
import { secondWriters } from '../support/mode-world/payload-writes.ts';

/** Accepts an intent that takes its time: answers its id. */
export async function begin(world: ModeWorld, intent: Record<string, unknown>): Promise<string> {
  const answer = await world.accept({ namespace: 'shop', ...intent }, crypto.randomUUID());
  expect(answer).toMatchObject({ status: 202 });
  return String(answer.body['id']);
}

/** Installs so many applications and waits until each is ready; answers their UIDs. */
export async function installed(
  world: ModeWorld,
  count: number,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, string>> {
  const ids: string[] = [];
  for (let number = 1; number <= count; number += 1) {
    const name = `app-${number}`;
    ids.push(await begin(world, { action: 'install', name, catalogEntry: 'podinfo', chartVersion: '6.5.0', ...more }));
  }
  for (const id of ids) await world.untilIntent(id, ['ready']);
  return await world.uids();
}

/** Requests the switch; answers its id. */
export async function request(world: ModeWorld, to: ConnectivityMode): Promise<string> {
  const answer = await world.requestMode(to);
  expect(answer).toMatchObject({ status: 202 });
  return String(answer.body['switch'].id);
}

/** The switch came to this end, which it explains. */
export async function endOf(world: ModeWorld, id: string, state: string): Promise<Answer['body']> {
  const end = await world.untilOver(id, 90_000);
  if (end['state'] !== state) throw new Error(`it is not ${state}: ${JSON.stringify(end, null, 1)}`);
  return end;
}

/** Each is the object that it was, in the hands of the mode's writer alone, and no two ever wrote at a time. */
export async function expectKept(
  world: ModeWorld,
  mode: ConnectivityMode,
  uids: Readonly<Record<string, string>>,
): Promise<void> {
  expect((await world.view())['connectivityMode']).toBe(mode);
  expect(await world.uids()).toEqual(uids);
  const owner = mode === 'push' ? PUSH_FIELD_MANAGER : FIELD_MANAGER;
  const owners = async () =>
    (await world.objects()).map(({ metadata, ...rest }) => [metadata.name, payloadManagers({ metadata, ...rest })]);
  const right = Object.keys(uids).map((name) => [name, [owner]]);
  // A switch that went back is over once all is delivered; the operator applies it in its own time.
  await world
    .until('the owners', async () => (JSON.stringify(await owners()) === JSON.stringify(right) ? true : undefined))
    .catch(() => undefined);
  expect(await owners()).toEqual(right);
  expect(secondWriters(world.writes)).toEqual([]);
}

/** Names of the objects that anybody asked to go, once for each request that was carried out. */
export function deletes(world: ModeWorld): string[] {
  return world.writes.flatMap(({ what, object }) => (what === 'delete' ? [object] : []));
}
