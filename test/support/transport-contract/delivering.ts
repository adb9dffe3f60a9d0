import { expect, it, vi } from 'vitest';
import type { ManagedFieldsEntry } from '../../../src/resources/kube-object.ts';
import { INSTALL } from '../../control-plane/running-control-plane.ts';
import { instanceRef, releaseRef, WITHIN, type TransportMember } from './transport-member.ts';
import type { TransportWorld } from './transport-world.ts';

export const PAYLOAD_MANAGERS: readonly string[] = ['service-operator', 'service-control-plane'];
/** What the operator posts about objects and jobs. */
const REPORTS = /\/api\/agent\/(?:events|jobs\/[^/]+\/(?:status|result))$/;

/** The entries of those who may own payloads: on servers before 1.22 an entry of a status is not marked as one. */
export async function payloadEntries(member: TransportMember, name: string): Promise<readonly ManagedFieldsEntry[]> {
  const { metadata } = await member.read(instanceRef(name));
  return (metadata.managedFields ?? []).filter(({ manager = '' }) => PAYLOAD_MANAGERS.includes(manager));
}

export function describeDelivering(current: () => TransportWorld): void {
  it('brings an install to ready, marked with its cluster, its intent and its place in the order, by one owner', async () => {
    const { member, transport } = current();
    const intent = await member.install('fresh');
    expect(intent['receipt']).toMatchObject({ mode: transport.mode, ...transport.receipt });
    const { metadata } = await member.read(instanceRef('fresh'));
    expect(metadata.labels).toMatchObject({
      'app.service.io/managed-by': 'control-plane',
      'app.service.io/cluster-id': member.id,
    });
    const { body: cluster } = await member.plane.call('GET', `/clusters/${member.id}`);
    const [row] = member.plane.query('SELECT delivery_epoch FROM clusters WHERE id = ?', member.id);
    expect(cluster['connectivityMode']).toBe(transport.mode);
    expect(metadata.annotations).toMatchObject({
      'app.service.io/source': `${String(row?.['delivery_epoch'])}.${intent['generation']}`,
      'app.service.io/intent-id': intent['id'],
      'app.service.io/signature': expect.stringMatching(/^[\w-]+\.\.[\w-]+$/),
    });
    expect(await payloadEntries(member, 'fresh')).toEqual([
      expect.objectContaining({ manager: transport.manager, operation: 'Apply' }),
    ]);
    expect(current().payloadWrites('fresh')).toHaveLength(1);
    const status = (await member.read(instanceRef('fresh'))).status as { readonly source?: { readonly mode: string } };
    expect(status.source?.mode).toBe(transport.mode);
  });

  it('keeps the object and its release on an upgrade, which is one write and raises the place in the order', async () => {
    const { member } = current();
    await member.install('kept');
    const before = [await member.uidOf(instanceRef('kept')), await member.uidOf(releaseRef('kept'))];
    const intent = await member.bring({ ...INSTALL, action: 'update', name: 'kept', chartVersion: '6.6.1' }, 'ready');
    expect([await member.uidOf(instanceRef('kept')), await member.uidOf(releaseRef('kept'))]).toEqual(before);
    const { spec, metadata } = await member.read(instanceRef('kept'));
    expect(spec).toMatchObject({ chart: { version: '6.6.1' } });
    expect(metadata.annotations?.['app.service.io/source']).toMatch(
      new RegExp(String.raw`^\d+\.${intent['generation']}$`),
    );
    expect(current().payloadWrites('kept')).toHaveLength(2);
    expect(await payloadEntries(member, 'kept')).toHaveLength(1);
  });

  it('takes away what an upgrade leaves out', async () => {
    const { member } = current();
    await member.install('leaner', { values: { replicaCount: 2, logLevel: 'debug' } });
    await member.bring({ ...INSTALL, action: 'update', name: 'leaner', values: { replicaCount: 3 } }, 'ready');
    const { spec } = await member.read(instanceRef('leaner'));
    expect(spec?.['values']).toEqual({ replicaCount: 3, ui: { message: 'hello' } });
  });

  it('ends as failed when the release fails, and the next intent for the same object mends it', async () => {
    const { member } = current();
    const failed = await member.bring({ ...INSTALL, name: 'broken', values: { replicaCount: -1 } }, 'failed');
    expect(failed['reason']).toContain('must be greater than or equal to 0');
    const uid = await member.uidOf(instanceRef('broken'));
    expect(uid).toBeDefined();
    await member.bring({ ...INSTALL, action: 'update', name: 'broken', values: { replicaCount: 2 } }, 'ready');
    expect(await member.uidOf(instanceRef('broken'))).toBe(uid);
    expect((await member.intent(String(failed['id'])))['state']).toBe('failed');
  });

  it('learns how it went by what the operator reports and by nothing else', async () => {
    const { member } = current();
    member.contact.fault = ({ path }) => (REPORTS.test(path) ? { status: 503 } : undefined);
    try {
      const id = await member.accept({ ...INSTALL, name: 'silent' });
      await member.until(id, 'delivered');
      await vi.waitFor(async () => await member.read(instanceRef('silent')), WITHIN);
      await member.untilSays(instanceRef('silent'), 'Ready', 'True HelmReleaseReady');
      expect((await member.intent(id))['state']).toBe('delivered');
      member.contact.fault = () => undefined;
      await member.until(id, 'ready');
    } finally {
      member.contact.fault = () => undefined;
    }
  });
}
