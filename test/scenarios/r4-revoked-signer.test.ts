import { describe, expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { WholeSystem } from '../operator/whole-system.ts';
import { systemClock } from '../../src/runtime/clock.ts';

interface Key {
  readonly id: string;
  readonly state: string;
  readonly fingerprint: string;
}

async function currentKey({ plane }: WholeSystem): Promise<Key> {
  const { items } = (await plane.call('GET', '/commit-signing-keys')).body as { readonly items: readonly Key[] };
  const current = items.find(({ state }) => state === 'current');
  if (current === undefined) throw new Error('no key signs');
  return current;
}

/** A system whose cluster requires signed commits and has one application, delivered by a signed commit. */
async function startSigned(): Promise<WholeSystem> {
  const system = await WholeSystem.start(systemClock, 'gitops');
  const changed = await system.plane.call('PATCH', `/clusters/${system.clusterId}`, {
    git: { requireSignedCommits: true },
  });
  expect(changed.status).toBe(200);
  await system.bring(INSTALL, 'ready');
  await system.world.until('Synced', 'True', 'Applied');
  return system;
}

describe('R4: a commit signing key that is revoked', () => {
  it('stops being trusted at the next pass although the commit is the same, and the next commit is trusted again', async () => {
    await using system = await startSigned();
    const { plane, world } = system;
    const tip = await plane.git('rev-parse', 'main');
    const before = await system.instance('podinfo');
    const key = await currentKey(system);
    await plane.call('POST', `/commit-signing-keys/${key.id}/revoke`, { reason: 'stolen' });
    const refused = await world.until('Synced', 'False', 'CommitNotTrusted');
    expect(refused.message).toContain(
      ` is signed by the key ${key.fingerprint}, which is not among the allowed signers`,
    );
    expect(await plane.git('rev-parse', 'main')).toBe(tip);
    expect((await system.instance('podinfo'))?.metadata.uid).toBe(before?.metadata.uid);
    await system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
    await world.until('Synced', 'True', 'Applied');
  }, 60_000);

  it('leaves what it signed trusted where a person vouches for the directory as it is', async () => {
    await using system = await startSigned();
    const { plane, world } = system;
    await plane.call('POST', `/commit-signing-keys/${(await currentKey(system)).id}/revoke`);
    const { message } = await world.until('Synced', 'False', 'CommitNotTrusted');
    const revision = (await plane.git('rev-parse', 'main:clusters/eu')).trim();
    expect(message).toContain(`the directory there is revision ${revision}.`);
    const vouched = await plane.call('POST', `/clusters/${system.clusterId}/trust-revision`, { revision });
    expect([vouched.status, vouched.body['trustedRevision']]).toEqual([200, revision]);
    await world.until('Synced', 'True', 'Applied');
  }, 60_000);
});
