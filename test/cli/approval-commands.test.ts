import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { ApprovingCluster } from '../control-plane/approvals/approving-cluster.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';

const folder = mkdtempSync(join(tmpdir(), 'approval-commands-'));
let plane: RunningControlPlane;
let cluster: ApprovingCluster;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  cluster = await ApprovingCluster.create(plane, 'prod-eu');
  await cluster.requires({ count: 2 });
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function run(by: string, ...args: string[]): Promise<[number, string]> {
  const file = join(folder, by);
  writeFileSync(file, by === 'admin' ? plane.token : await cluster.token(by));
  let text = '';
  const write = (part: string): void => void (text += part);
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: file };
  return [await servicectl(args, { out: write, err: write, env }), text];
}

it('lists what waits, shows it whole, and approves the spec that was looked at', async () => {
  const id = await cluster.ask({ reason: 'web leaks' });
  const approval = id.replace('int-', 'apr-');
  expect((await run('anna', 'approvals', 'list'))[1]).toMatch(
    new RegExp(`^${id} +prod-eu +pending +0/2 +admin +rollout-restart shop/restart-web$`, 'm'),
  );
  const [, shown] = await run('anna', 'approvals', 'show', id);
  expect(shown).toMatch(/^because +web leaks$/m);
  expect(shown).toMatch(/^missing +2 approvals$/m);
  expect(shown).toContain('kind: Operation');
  const hash = /^spec +(\S+)$/m.exec(shown)?.[1] ?? '';
  expect(await run('admin', 'operations', 'approve', id, '--spec-hash', hash)).toEqual([
    1,
    expect.stringContaining('(forbidden'),
  ]);
  const approve = ['operations', 'approve', approval, '--spec-hash', hash] as const;
  expect(await run('anna', ...approve, '--comment', 'go')).toEqual([
    0,
    `${id}: rollout-restart shop/restart-web is pending, lacks 1 approval\n`,
  ]);
  expect(await run('bert', ...approve)).toEqual([0, `${id}: rollout-restart shop/restart-web is approved\n`]);
  expect(await run('bert', 'operations', 'approve', id, '--spec-hash', 'other')).toEqual([
    1,
    expect.stringContaining('look at it again (conflict'),
  ]);
  expect((await run('anna', 'approvals', 'list'))[1]).not.toContain(id);
  const [, json] = await run('anna', 'approvals', 'list', '--state', 'all', '--cluster', 'prod-eu', '-o', 'json');
  expect(JSON.parse(json)).toMatchObject({ items: [{ id: approval, state: 'approved' }] });
  expect((await run('anna', 'approvals', 'show', approval))[1]).toContain('approved by anna-prod-eu: go');
});

it('approves what it prints where no spec is named', async () => {
  const id = await cluster.ask({ name: 'unseen' });
  const [code, text] = await run('anna', 'operations', 'approve', id);
  expect([code, text]).toEqual([0, expect.stringContaining('kind: Operation')]);
  const { specHash, given } = await cluster.approval(id);
  expect(text).toContain(specHash);
  expect(text).toMatch(new RegExp(`\\n${id}: rollout-restart shop/unseen is pending, lacks 1 approval\\n$`));
  expect(given).toMatchObject([{ by: 'anna-prod-eu' }]);
});

it('rejects, and says of what needs none that it needs none', async () => {
  const id = await cluster.ask({ name: 'other' });
  expect(await run('anna', 'operations', 'reject', id, '--comment', 'no')).toEqual([
    0,
    `${id}: rollout-restart shop/other is rejected\n`,
  ]);
  expect((await run('anna', 'approvals', 'show', id))[1]).toMatch(/^state +rejected: rejected by anna-prod-eu: no$/m);
  await cluster.requires(undefined);
  const plain = await cluster.ask({ name: 'plain' });
  expect(await run('anna', 'approvals', 'show', plain)).toEqual([1, `servicectl: intent ${plain} needs no approval\n`]);
});
