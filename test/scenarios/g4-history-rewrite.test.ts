import { expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { AbsenceStage } from './absence-stage.ts';

it(
  'G4: after a forced push that took the old tip away both sides recover unaided, say so, and delete nothing',
  { timeout: 120_000 },
  async () => {
    await using stage = await AbsenceStage.start('gitops');
    const { plane } = stage.system;
    await stage.system.bring({ ...INSTALL, name: 'kept' }, 'ready');
    await stage.system.bring(INSTALL, 'ready');
    const before = await stage.identities();
    stage.forgetWrites();
    // Whoever has the folder replaces the last commit by another; nothing of the old one is left.
    const old = (await plane.git('rev-parse', 'main')).trim();
    const tree = (await plane.git('rev-parse', 'main~1^{tree}')).trim();
    const rewritten = (
      await plane.git(
        '-c',
        'user.name=A',
        '-c',
        'user.email=a@example.com',
        'commit-tree',
        tree,
        '-p',
        'main~1',
        '-m',
        'rewritten',
      )
    ).trim();
    await plane.git('update-ref', 'refs/heads/main', rewritten);
    await plane.git('reflog', 'expire', '--expire=now', '--all');
    await plane.git('prune', '--expire=now');
    await expect(plane.git('cat-file', '-e', old)).rejects.toThrow('cat-file');
    const tip = async (): Promise<string> => {
      await stage.pass(30_000);
      return (await plane.git('log', '-1', '--format=%s', 'main')).trim();
    };
    await expect.poll(tip, { timeout: 40_000, interval: 50 }).toBe('eu: install shop/podinfo 6.5.0');
    expect((await plane.git('rev-parse', 'main~1')).trim()).toBe(rewritten);
    const states = async (): Promise<unknown> => {
      await stage.pass(10_000);
      return plane.query('SELECT name, state FROM intents ORDER BY name');
    };
    await expect.poll(states, { timeout: 40_000, interval: 50 }).toEqual([
      { name: 'kept', state: 'ready' },
      { name: 'podinfo', state: 'ready' },
    ]);
    expect(stage.writes(['DELETE'])).toEqual([]);
    expect(await stage.identities()).toEqual(before);
    const { body } = await plane.call('GET', '/audit?kind=GitHistoryRewritten');
    const said = (body['items'] as { readonly summary: string }[]).map(({ summary }) => summary);
    expect(said.toSorted()).toEqual([
      'commits went with a rewritten history: clusters/eu/apps/shop/podinfo.yaml; delivered again, as the control plane sees it',
      `the branch main of fleet was rewritten: it was at ${old} and is at ${rewritten} now; 1 intents went with it, as the control plane sees it`,
    ]);
  },
);
