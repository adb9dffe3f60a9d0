import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openMasterKey, type MasterKey } from '../../src/control-plane/master-key.ts';
import { PayloadSigner } from '../../src/control-plane/payload-signer.ts';
import { signRendered } from '../../src/control-plane/sign-rendered.ts';
import type { Store } from '../../src/control-plane/store/open-store.ts';
import { findSigningKeys, newSigningKey, publicJwkOf } from '../../src/control-plane/store/signing-keys.ts';
import { parseManifest, parseTombstone } from '../../src/intent/manifest.ts';
import { manifestText } from '../../src/intent/manifest-text.ts';
import { renderIntent } from '../../src/intent/render.ts';
import type { Rendered } from '../../src/intent/rendered.ts';
import { verifyPayload } from '../../src/protocol/payload-signature.ts';
import type { PublicJwk } from '../../src/protocol/register.ts';
import { SIGNATURE_ANNOTATION } from '../../src/resources/labels.ts';
import { signedContent } from '../../src/resources/signed-object.ts';
import { inputs, install, target } from '../intent/podinfo-intent.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { insertCluster, insertOrganization, openTestStore, temporaryFolder } from './store/open-test-store.ts';

const clock = new ManualClock();
let folder: ReturnType<typeof temporaryFolder>;
let store: Store;
let masterKey: MasterKey;
let signer: PayloadSigner;

beforeEach(async () => {
  folder = temporaryFolder();
  store = await openTestStore(folder.path);
  masterKey = openMasterKey({ file: join(folder.path, 'master.key'), randomBytes });
  signer = new PayloadSigner({ store, masterKey, clock });
  await insertOrganization(store, 'org-1');
  await insertCluster(store, { id: target.clusterId, organization_id: 'org-1' });
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function publicKeys(): Promise<PublicJwk[]> {
  return (await findSigningKeys(store.db, target.clusterId)).map(publicJwkOf);
}

async function rotate(): Promise<void> {
  clock.advance(1000);
  const row = await newSigningKey(masterKey, target.clusterId, clock.now().toISOString());
  await store.write(async (trx) => {
    await trx.insertInto('signing_keys').values(row).execute();
  });
}

const context = { kind: 'apply', idempotencyKey: 'applicationinstance/shop/podinfo@3' } as const;

describe('the payload signer', () => {
  it('makes the first key of a cluster that has none, once, and signs the same with the same bytes', async () => {
    const [one, ...rest] = await Promise.all(
      Array.from({ length: 5 }, async () => await signer.sign(target.clusterId, { a: 1 }, context)),
    );
    expect(new Set([one, ...rest]).size).toBe(1);
    const keys = await publicKeys();
    expect(keys).toHaveLength(1);
    const expected = { ...context, cluster_id: target.clusterId };
    await verifyPayload({ jws: one ?? '', payload: { a: 1 }, keys, expected });
    const restarted = new PayloadSigner({ store, masterKey, clock });
    await expect(restarted.sign(target.clusterId, { a: 1 }, context)).resolves.toBe(one);
  });

  it('signs with the new key right after a rotation, and not with one that was revoked', async () => {
    const before = await signer.sign(target.clusterId, {}, context);
    await rotate();
    const after = await signer.sign(target.clusterId, {}, context);
    expect(after).not.toBe(before);
    const [current] = await publicKeys();
    const expected = { ...context, cluster_id: target.clusterId };
    await verifyPayload({ jws: after, payload: {}, keys: [current as PublicJwk], expected });
    await store.write(async (trx) => {
      await trx
        .updateTable('signing_keys')
        .set({ revoked_at: clock.now().toISOString() })
        .where('kid', '=', current?.kid ?? '')
        .execute();
    });
    await expect(signer.sign(target.clusterId, {}, context)).resolves.toBe(before);
  });

  it('says which secret does not open under another master key', async () => {
    await signer.sign(target.clusterId, {}, context);
    const other = openMasterKey({ file: join(folder.path, 'other.key'), randomBytes });
    const stranger = new PayloadSigner({ store, masterKey: other, clock });
    await expect(stranger.sign(target.clusterId, {}, context)).rejects.toThrow(
      /the stored secret signing-key\/c-0123456789abcdef does not open: SERVICE_MASTER_KEY_FILE/,
    );
  });
});

describe('a signed intent', () => {
  const values = { text: 'a\n  b\n', empty: {}, 'app.service.io/intent-id': 'x', nested: { deep: [1.5, null, true] } };
  const made: readonly (readonly [string, Rendered])[] = [
    ['install', renderIntent({ ...install, values }, target, inputs)],
    ['operate', renderIntent({ ...install, action: 'operate', operationTemplate: 'scale' }, target)],
  ];

  it.each(made)('of action %s stands in Git as its object says, and verifies as it is read there', async (_, plain) => {
    const signed = await signRendered(signer, plain);
    if (signed.kind !== 'apply' || plain.kind !== 'apply') throw new Error('an object is expected');
    expect(signed.text).toBe(manifestText(signed.object));
    expect(signed).toEqual(await signRendered(signer, plain));
    const read = parseManifest(signed.text, 'x.yaml');
    if (!read.ok) throw new Error(read.message);
    const { [SIGNATURE_ANNOTATION]: jws = '', ...annotations } = read.object.metadata.annotations ?? {};
    expect({ ...read.object, metadata: { ...read.object.metadata, annotations } }).toEqual(plain.object);
    await verifyPayload({
      jws,
      payload: signedContent(read.object),
      keys: await publicKeys(),
      expected: { cluster_id: target.clusterId, kind: 'apply', idempotencyKey: plain.idempotencyKey },
    });
  });

  it('of action uninstall is a tombstone with its signature', async () => {
    const signed = await signRendered(signer, renderIntent({ ...install, action: 'uninstall' }, target));
    const read = parseTombstone(signed.text, 'x.json');
    if (!read.ok) throw new Error(read.message);
    const { signature = '', ...payload } = read.tombstone;
    const expected = { cluster_id: target.clusterId, kind: 'delete', idempotencyKey: signed.idempotencyKey } as const;
    await verifyPayload({ jws: signature, payload, keys: await publicKeys(), expected });
    await expect(signRendered(signer, signed)).resolves.toEqual(signed);
  });
});
