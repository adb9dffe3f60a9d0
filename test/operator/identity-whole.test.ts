import { decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import type { RecoverResponse } from '../../src/protocol/credentials.ts';
import { AGENT_MEDIA_TYPE } from '../../src/protocol/media-type.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { decoded, OperatorWorld } from './operator-world.ts';

const CREDENTIALS = 'service-operator-credentials';

interface Joined extends AsyncDisposable {
  readonly plane: RunningControlPlane;
  readonly world: OperatorWorld;
  readonly id: string;
}

async function joined(): Promise<Joined> {
  await using owned = new AsyncDisposableStack();
  const plane = owned.use(await RunningControlPlane.start());
  const world = owned.use(await OperatorWorld.start());
  await plane.putPodinfo();
  const { body } = await plane.call('POST', '/clusters', {
    slug: 'eu',
    displayName: 'Europe',
    allowedNamespaces: ['shop'],
    allowedCatalogEntries: ['podinfo'],
    allowedOperationTemplates: [],
  });
  await world.start();
  await world.join(plane.url, String(body['registrationToken']));
  await world.until('Authenticated', 'True', 'Registered');
  await expect.poll(async () => (await world.read()).status?.odooPublicKey, { timeout: 5000 }).toBeDefined();
  const kept = owned.move();
  return { plane, world, id: String(body['cluster'].id), [Symbol.asyncDispose]: async () => await kept.disposeAsync() };
}

describe('identity between the two programs', () => {
  it('rotates when an admin asks, once, tells the audit who did what, and work goes on', async () => {
    await using all = await joined();
    const { plane, world } = all;
    const before = decoded(await world.secret(CREDENTIALS), 'token');
    expect((await plane.call('POST', '/clusters/eu/rotate')).status).toBe(200);
    await world.until('Authenticated', 'True', 'CredentialRotated');
    const after = decoded(await world.secret(CREDENTIALS), 'token');
    expect(after).toMatch(/^svcagt_/);
    expect(after).not.toBe(before);
    await expect
      .poll(async () => (await plane.call('GET', '/audit?kind=CredentialRotated')).body['items'], { timeout: 5000 })
      .toEqual([expect.objectContaining({ source: 'agent', kind: 'CredentialRotated', reason: 'CredentialRotated' })]);
    const asked = await plane.call('GET', '/audit?kind=CredentialRotate');
    expect(asked.body['items']).toEqual([expect.objectContaining({ source: 'user' })]);
    const intent = await plane.call('POST', '/clusters/eu/intents', INSTALL);
    await plane.until(String(intent.body['id']), 'applied');
    const { body } = await plane.call('GET', '/clusters/eu');
    const { status } = await world.read();
    expect(Date.parse(status?.credential?.expiresAt ?? '')).toBe(Date.parse(body['credential'].expiresAt));
    expect(Date.parse(status?.credential?.rotateAfter ?? '')).toBeGreaterThan(Date.now());
  });

  it('follows a new signing key that the pinned one endorsed', async () => {
    await using all = await joined();
    const { plane, world } = all;
    const first = JSON.parse((await world.read()).status?.odooPublicKey ?? '{}') as { kid: string };
    const { body } = await plane.call('POST', '/clusters/eu/signing-keys');
    await expect
      .poll(
        async () =>
          (await world.read()).status?.signingKeys?.accepted.map((key) => (JSON.parse(key) as { kid: string }).kid),
        { timeout: 5000 },
      )
      .toEqual([body['kid'], first.kid]);
    expect((await plane.call('DELETE', `/clusters/eu/signing-keys/${first.kid}`)).status).toBe(204);
    await expect.poll(async () => (await world.read()).status?.signingKeys?.accepted.length, { timeout: 5000 }).toBe(1);
    const { status } = await world.read();
    expect(status?.conditions?.find(({ type }) => type === 'SigningKeyTrusted')).toBeUndefined();
  });

  it('makes a new encryption key when the Cluster says so, and the control plane seals to it', async () => {
    await using all = await joined();
    const { plane, world, id } = all;
    const before = JSON.parse(decoded(await world.secret('service-operator-keypair'), 'current')) as { kid: string };
    await world.annotate({ 'ops.service.io/rotate-keypair': '2026-11' });
    await world.until('Authenticated', 'True', 'CredentialRotated');
    const ring = await world.secret('service-operator-keypair');
    const after = JSON.parse(decoded(ring, 'current')) as { kid: string };
    const retired = JSON.parse(decoded(ring, 'retired')) as { kid: string }[];
    expect({ differs: after.kid !== before.kid, retired: retired.map(({ kid }) => kid) }).toEqual({
      differs: true,
      retired: [before.kid],
    });
    const answer = await fetch(`${plane.url}/api/agent/credentials/recover`, {
      method: 'POST',
      headers: { accept: AGENT_MEDIA_TYPE, 'content-type': AGENT_MEDIA_TYPE },
      body: JSON.stringify({ cluster_id: id }),
    });
    expect(decodeProtectedHeader(((await answer.json()) as RecoverResponse).token_jwe).kid).toBe(after.kid);
    await expect
      .poll(async () => Object.keys((await world.secret('service-operator-keypair'))?.metadata.annotations ?? {}))
      .toEqual(['ops.service.io/rotated-for']);
  });

  it('comes back by itself when the control plane has forgotten its credential, as after a restore', async () => {
    await using all = await joined();
    const { plane, world } = all;
    plane.execute('DELETE FROM agent_credentials');
    await plane.call('PATCH', '/clusters/eu', { allowedNamespaces: ['shop', 'pay'] });
    await world.until('Authenticated', 'True', 'CredentialRecovered');
    await expect
      .poll(async () => (await world.read()).status?.allowedNamespaces, { timeout: 10_000 })
      .toEqual(['shop', 'pay']);
  });

  it('stops when an admin revokes it, and does not come back by itself', async () => {
    await using all = await joined();
    const { plane, world } = all;
    expect((await plane.call('POST', '/clusters/eu/revoke')).status).toBe(200);
    const condition = await world.until('Authenticated', 'False', 'CredentialRefused');
    expect(condition.message).toContain('service-operator register --token-file=<file>');
  });
});
