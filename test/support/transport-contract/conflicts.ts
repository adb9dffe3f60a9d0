import { expect, it } from 'vitest';
import { INSTALL } from '../../control-plane/running-control-plane.ts';
import { instanceRef } from './transport-member.ts';
import type { TransportWorld } from './transport-world.ts';

const OWNED = 'field manager "kubectl-edit" owns .spec.values.replicaCount';

export function describeConflicts(current: () => TransportWorld): void {
  it('takes no field from another manager, names both, and goes on once it is given up', async () => {
    const { member, transport } = current();
    await member.install('owned');
    const ref = instanceRef('owned');
    const edit = async (replicaCount: number | null): Promise<void> => {
      const patch = { spec: { values: { replicaCount } } };
      await member.cluster.admin.mergePatch(ref, patch, { fieldManager: 'kubectl-edit' });
    };
    await edit(7);
    const update = { ...INSTALL, action: 'update', name: 'owned', values: { replicaCount: 2 } };
    if (transport.conflict === 'ends the intent') {
      const { reason } = await member.bring(update, 'failed');
      expect(reason).toMatch(/^ApplyConflict: /);
      expect(reason).toContain(OWNED);
      expect((await member.read(ref)).spec).toMatchObject({ values: { replicaCount: 7 } });
      await edit(null);
      await member.bring(update, 'ready');
    } else {
      const id = await member.accept(update);
      const { message } = await member.untilReported('Synced', 'ApplyConflict');
      expect(message).toContain(OWNED);
      expect((await member.intent(id))['state']).toBe('delivered');
      expect((await member.read(ref)).spec).toMatchObject({ values: { replicaCount: 7 } });
      await edit(null);
      await member.until(id, 'ready');
    }
    expect((await member.read(ref)).spec).toMatchObject({ values: { replicaCount: 2 } });
  });
}
