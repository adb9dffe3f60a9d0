import { decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { registerCommand } from '../../src/operator/register-command.ts';
import type { RecoverResponse } from '../../src/protocol/credentials.ts';
import { AGENT_MEDIA_TYPE } from '../../src/protocol/media-type.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { decoded, NAMESPACE, OperatorWorld } from './operator-world.ts';

const CREDENTIALS = 'service-operator-credentials';

/** Real time, but for the pause between two looks at the Secrets. */
const hurried: Clock = {
  now: () => systemClock.now(),
  sleep: async (ms, signal) => await systemClock.sleep(ms === 10_000 ? 50 : ms, signal),
};

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
  await world.start(hurried);
  await world.join(plane.url, String(body['registrationToken']));
  await world.until('Authenticated', 'True', 'Registered');
  await expect.poll(async () => (await world.read()).status?.odooPublicKey, { timeout: 30_000 }).toBeDefined();
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
      .poll(async () => (await plane.call('GET', '/audit?kind=CredentialRotated')).body['items'], { timeout: 30_000 })
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
        { timeout: 30_000 },
      )
      .toEqual([body['kid'], first.kid]);
    expect((await plane.call('DELETE', `/clusters/eu/signing-keys/${first.kid}`)).status).toBe(204);
    await expect
      .poll(async () => (await world.read()).status?.signingKeys?.accepted.length, { timeout: 30_000 })
      .toBe(1);
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
    await plane.execute('DELETE FROM agent_credentials');
    await plane.call('PATCH', '/clusters/eu', { allowedNamespaces: ['shop', 'pay'] });
    await world.until('Authenticated', 'True', 'CredentialRecovered');
    await expect
      .poll(async () => (await world.read()).status?.allowedNamespaces, { timeout: 10_000 })
      .toEqual(['shop', 'pay']);
  });

  it('A8: comes back after its credential has ended, by its key, or without one by one command; all of it stays', async () => {
    await using all = await joined();
    const { plane, world, id } = all;
    const intent = await plane.call('POST', '/clusters/eu/intents', INSTALL);
    await plane.until(String(intent.body['id']), 'applied');
    const ref = {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'shop',
      name: 'podinfo',
    };
    const before = await world.cluster.api.get(ref);
    const expire = async (): Promise<void> =>
      await plane.execute("UPDATE agent_credentials SET expires_at = '2026-01-01T00:00:00.000Z'");
    await expire();
    await plane.call('PATCH', '/clusters/eu', { allowedNamespaces: ['shop', 'pay'] });
    await world.until('Authenticated', 'True', 'CredentialRecovered');

    await plane.execute('UPDATE clusters SET public_key = NULL');
    await expire();
    await plane.call('PATCH', '/clusters/eu', { allowedNamespaces: ['shop'] });
    await world.until('Authenticated', 'False', 'CredentialExpired');
    const { body } = await plane.call('POST', '/clusters/eu/registration-token');
    const said: string[] = [];
    const code = await registerCommand(['--token=-'], {
      config: {
        namespace: NAMESPACE,
        kubeconfig: { kind: 'text', yaml: world.cluster.sandbox.kubeconfig() },
        stateDir: world.stateDir,
        logLevel: 'silent',
      },
      clock: systemClock,
      random: () => 0,
      out: (text) => void said.push(text),
      err: (text) => void said.push(text),
      stdin: (async function* () {
        yield String(body['registrationToken']);
      })(),
    });
    expect({ code, said }).toEqual({ code: 0, said: [`Cluster service-system/eu is registered as ${id}.\n`] });
    await world.until('Authenticated', 'True', 'Registered');
    const after = await world.cluster.api.get(ref);
    expect({ uid: after?.metadata.uid, deleted: after?.metadata.deletionTimestamp }).toEqual({
      uid: before?.metadata.uid,
      deleted: undefined,
    });
  }, 90_000);

  it('stops when an admin revokes it, and does not come back by itself', async () => {
    await using all = await joined();
    const { plane, world } = all;
    expect((await plane.call('POST', '/clusters/eu/revoke')).status).toBe(200);
    const condition = await world.until('Authenticated', 'False', 'CredentialRefused');
    expect(condition.message).toContain('service-operator register --token-file=<file>');
  });
});
