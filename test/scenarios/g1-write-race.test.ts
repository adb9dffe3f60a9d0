import { expect, it } from 'vitest';
import { pushesThrough, report } from '../delivery/gitops/write/refusing-host.ts';
import { apply } from '../delivery/gitops/write/rendered-intent.ts';
import { delivered, instantClock, onServer, startAcme, subjects, writerOn } from '../delivery/gitops/write/writer.ts';

/** What a host says of a branch that moved, in this order. */
const WORDINGS = [
  'non-fast-forward',
  "cannot lock ref 'refs/heads/main': is at 9a2f5c1 but expected 52e4a9b",
  'incorrect old value provided',
];

it('G1: two writers who are turned away in three hosts’ words try again from the new tip, apart, and every commit lands', async () => {
  await using server = await startAcme();
  const before = await onServer(server, 'rev-parse', 'main');
  const race = (random: number): { readonly clock: ReturnType<typeof instantClock>; readonly overrides: object } => {
    const clock = instantClock();
    const turned = pushesThrough(async (push) => {
      const wording = WORDINGS[push - 1];
      return wording === undefined ? undefined : report(wording);
    });
    return { clock, overrides: { clock, fetchLike: turned, random: () => random } };
  };
  const [eager, patient] = [race(0.1), race(0.9)];
  await using left = writerOn(server, eager.overrides);
  await using right = writerOn(server, patient.overrides);
  const batch = (slug: string) => [apply({ slug }), apply({ slug, name: 'second' })];
  const commits = await Promise.all([delivered(left, batch('prod-eu')), delivered(right, batch('prod-us'))]);
  const history = (await onServer(server, 'rev-list', `${before}..main`)).split('\n');
  expect(history.toSorted()).toEqual(commits.flat().toSorted());
  expect(await onServer(server, 'rev-list', '--min-parents=2', 'main')).toBe('');
  expect((await subjects(server)).length).toBe(4);
  // Once for each wording, each time longer, and never both at the same moment.
  for (const { clock } of [eager, patient]) {
    const waits = clock.waits.slice(0, 3);
    expect(waits.length).toBe(3);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
  }
  expect(eager.clock.waits.some((wait) => patient.clock.waits.includes(wait))).toBe(false);
});
