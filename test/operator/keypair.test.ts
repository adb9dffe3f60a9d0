import { describe, expect, it } from 'vitest';
import { ensureKeypair, publicKeySent, type KeyRing } from '../../src/operator/keypair.ts';
import { decryptWith, encryptTo } from '../../src/protocol/jwe.ts';
import type { Cluster } from '../../src/resources/cluster.ts';
import { NAMESPACE, OperatorWorld } from './operator-world.ts';

const NEVER = new AbortController().signal;

async function asked(world: OperatorWorld, value: string): Promise<Cluster> {
  await world.annotate({ 'ops.service.io/rotate-keypair': value });
  return await world.read();
}

describe('the keys of a cluster', () => {
  it('are made once, whoever asks, and are to be sent until they were', async () => {
    await using world = await OperatorWorld.start();
    await world.join('http://control.test');
    const { api } = world.cluster;
    const cluster = await world.read();
    const first = await ensureKeypair(api, cluster, undefined, NEVER);
    const second = await ensureKeypair(api, cluster, undefined, NEVER);
    expect({ same: second.publicJwk, sent: [first.isToBeSent, second.isToBeSent] }).toEqual({
      same: first.publicJwk,
      sent: [true, true],
    });
    await publicKeySent(api, cluster, { ...first.publicJwk, kid: 'another' }, NEVER);
    expect((await ensureKeypair(api, cluster, undefined, NEVER)).isToBeSent).toBe(true);
    await publicKeySent(api, cluster, first.publicJwk, NEVER);
    expect((await ensureKeypair(api, cluster, undefined, NEVER)).isToBeSent).toBe(false);
  });

  it('get a new current one for each new value of the annotation, and open what was sealed to the last eight before', async () => {
    await using world = await OperatorWorld.start();
    await world.join('http://control.test');
    const { api } = world.cluster;
    const rings: KeyRing[] = [await ensureKeypair(api, await world.read(), undefined, NEVER)];
    for (let turn = 1; turn <= 9; turn += 1) {
      const cluster = await asked(world, `turn-${turn}`);
      const made = await ensureKeypair(api, cluster, undefined, NEVER);
      const again = await ensureKeypair(api, cluster, undefined, NEVER);
      expect(again.publicJwk).toEqual(made.publicJwk);
      rings.push(made);
    }
    expect(new Set(rings.map(({ publicJwk }) => publicJwk.kid)).size).toBe(10);
    const last = rings.at(-1)?.ring ?? [];
    expect(last).toHaveLength(9);
    const opened = async (ring: KeyRing | undefined): Promise<string> => {
      if (ring === undefined) throw new Error('there is no such ring');
      return (await decryptWith(last, await encryptTo(ring.publicJwk, 'value'))).expose();
    };
    expect(await opened(rings[1])).toBe('value');
    await expect(opened(rings[0])).rejects.toMatchObject({ code: 'unknown_key' });
  });

  it('are not made anew by an annotation that was there from the start, nor by an empty one', async () => {
    await using world = await OperatorWorld.start();
    await world.join('http://control.test');
    const { api } = world.cluster;
    const first = await ensureKeypair(api, await asked(world, 'from the start'), undefined, NEVER);
    const second = await ensureKeypair(api, await asked(world, 'from the start'), undefined, NEVER);
    const third = await ensureKeypair(api, await asked(world, ''), undefined, NEVER);
    expect([second.publicJwk, third.publicJwk]).toEqual([first.publicJwk, first.publicJwk]);
    const secrets = await api.list({ apiVersion: 'v1', kind: 'Secret' }, { namespace: NAMESPACE });
    expect(secrets.items.map(({ metadata }) => metadata.name)).toEqual(['service-operator-keypair']);
  });
});
