import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { AbsenceStage } from './absence-stage.ts';

const PODINFO = 'clusters/eu/apps/shop/podinfo.yaml';

async function audited({ system }: AbsenceStage, kind: string): Promise<readonly string[]> {
  const { body } = await system.plane.call('GET', `/audit?kind=${kind}`);
  return (body['items'] as { readonly summary: string }[]).map(({ summary }) => summary);
}

async function subjects({ system }: AbsenceStage): Promise<readonly string[]> {
  return (await system.plane.git('log', '--reverse', '--format=%s', 'main')).trim().split('\n').slice(1);
}

/** Lets time pass until the control plane has looked at the repository. */
async function afterALook(stage: AbsenceStage, check: () => Promise<void>): Promise<void> {
  await expect
    .poll(
      async () => {
        await stage.pass(30_000);
        return await check().then(
          () => 'ok',
          (error: unknown) => String(error),
        );
      },
      { timeout: 40_000, interval: 50 },
    )
    .toBe('ok');
}

it(
  'G3: an owned file that a person deletes is restored where the cluster wants it; nothing is deleted, others go on',
  { timeout: 90_000 },
  async () => {
    await using stage = await AbsenceStage.start('gitops');
    const { plane, clusterId } = stage.system;
    await plane.call('PATCH', `/clusters/${clusterId}`, { git: { outsideEdits: 'restore' } });
    const other = await plane.newCluster('us');
    await stage.system.bring(INSTALL, 'ready');
    const before = await stage.identities();
    stage.forgetWrites();
    stage.system.editByHand((clone) => rmSync(join(clone, PODINFO)));
    // Of another cluster, whose files nobody touched.
    const { body } = await plane.call('POST', `/clusters/${other}/intents`, INSTALL);
    await plane.until(String(body['id']), 'delivered');
    await afterALook(stage, async () => expect((await subjects(stage)).at(-1)).toBe('eu: install shop/podinfo 6.5.0'));
    expect(await subjects(stage)).toEqual([
      'eu: install shop/podinfo 6.5.0',
      'by hand',
      'us: install shop/podinfo 6.5.0',
      'eu: install shop/podinfo 6.5.0',
    ]);
    await stage.untilReady('podinfo');
    expect(stage.writes(['DELETE'])).toEqual([]);
    expect(await stage.identities()).toEqual(before);
    // Ready again only with a receipt of the commit that the remote holds now.
    const [intent] = plane.query('SELECT id FROM intents WHERE cluster_id = ?', clusterId);
    await afterALook(stage, async () => {
      const shown = (await plane.call('GET', `/intents/${String(intent?.['id'])}`)).body;
      expect(shown['state']).toBe('ready');
      expect(shown['receipt']['commit']).toBe((await plane.git('rev-parse', 'main')).trim());
    });
  },
);

it(
  'G3: an edit is reported, once, where the cluster does not ask for more; the next intent goes over it',
  { timeout: 90_000 },
  async () => {
    await using stage = await AbsenceStage.start('gitops');
    const { plane } = stage.system;
    await stage.system.bring(INSTALL, 'ready');
    stage.forgetWrites();
    stage.system.editByHand((clone) => writeFileSync(join(clone, PODINFO), 'nonsense: true\n'));
    await afterALook(stage, async () =>
      expect(await audited(stage, 'OutsideEdit')).toEqual([
        `somebody else changed files in Git: ${PODINFO} edited; left as is, as the control plane sees it`,
      ]),
    );
    expect((await subjects(stage)).at(-1)).toBe('by hand');
    expect(stage.writes(['DELETE'])).toEqual([]);
    await stage.system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
    expect(await audited(stage, 'OutsideEdit')).toHaveLength(1);
    expect(await plane.git('show', `main:${PODINFO}`)).toContain('6.6.1');
  },
);
