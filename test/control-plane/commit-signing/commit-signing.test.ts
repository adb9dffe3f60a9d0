import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  addCommitSigner,
  rotateCommitSigningKey,
} from '../../../src/control-plane/commit-signing/change-commit-signers.ts';
import { CommitSigning } from '../../../src/control-plane/commit-signing/commit-signing.ts';
import { openMasterKey, type MasterKey } from '../../../src/control-plane/master-key.ts';
import type { AdminIdentity } from '../../../src/control-plane/store/admin-tokens.ts';
import { MAX_COMMIT_SIGNERS } from '../../../src/control-plane/store/commit-signing-keys.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { sshPublicKeyLine } from '../../../src/git/signing/ssh-public-key.ts';
import { parseSshSignature, verifiesForGit } from '../../../src/git/signing/ssh-signature.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { insertCluster, insertOrganization, openTestStore, temporaryFolder } from '../store/open-test-store.ts';

const PAYLOAD = Buffer.from('tree x\n\nmessage\n');

let clock: ManualClock;
let folder: ReturnType<typeof temporaryFolder>;
let store: Store;
let masterKey: MasterKey;
let notified: string[];

beforeEach(async () => {
  clock = new ManualClock();
  folder = temporaryFolder();
  store = await openTestStore(folder.path);
  masterKey = openMasterKey({ file: join(folder.path, 'master.key'), randomBytes });
  notified = [];
  await insertOrganization(store, 'org-1');
  await insertOrganization(store, 'org-2');
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const deps = () => ({
  store,
  masterKey,
  clock,
  randomBytes,
  wakeups: { notify: (topic: string) => void notified.push(topic) },
});
const replica = (): CommitSigning => new CommitSigning(deps());

const admin: AdminIdentity = {
  organization: { id: 'org-1', name: 'org-1' },
  name: 'anna',
  tokenHash: 'hash',
  roles: [],
  access: [],
  scopes: new Set<never>(),
};

const keyOf = (armored: string): string => sshPublicKeyLine(parseSshSignature(armored).key);

describe('the signer of commits', () => {
  it('makes the first key of an organization once, whichever replica is first, and signs the same in the same way', async () => {
    const replicas = [replica(), replica(), replica()];
    const signatures = await Promise.all(replicas.map(async (one) => await one.sign('org-1', PAYLOAD)));
    expect(new Set(signatures).size).toBe(1);
    expect(verifiesForGit(parseSshSignature(signatures[0] ?? ''), PAYLOAD)).toBe(true);
    expect(await replica().sign('org-1', PAYLOAD)).toBe(signatures[0]);
    expect(await replica().list('org-1')).toHaveLength(1);
    expect(keyOf(await replica().sign('org-2', PAYLOAD))).not.toBe(keyOf(signatures[0] ?? ''));
  });

  it('signs with the successor at once where it was rotated, and within a second everywhere else', async () => {
    const [here, there] = [replica(), replica()];
    const first = keyOf(await here.sign('org-1', PAYLOAD));
    await there.sign('org-1', PAYLOAD);
    clock.advance(100);
    const rotated = await rotateCommitSigningKey({ ...deps(), commitSigning: here }, admin);
    expect(keyOf(await here.sign('org-1', PAYLOAD))).toBe(rotated.public_key);
    expect(keyOf(await there.sign('org-1', PAYLOAD))).toBe(first);
    clock.advance(1000);
    expect(keyOf(await there.sign('org-1', PAYLOAD))).toBe(rotated.public_key);
    expect((await there.allowedSigners('org-1')).map(({ public_key: key }) => key)).toEqual([
      rotated.public_key,
      first,
    ]);
  });

  it('has only those clusters look again that require signed commits', async () => {
    for (const id of ['requires', 'does-not', 'pulls']) {
      await insertCluster(store, { id, organization_id: 'org-1', slug: id });
      const git = id === 'does-not' ? '{"merge":"manual"}' : '{"merge":"manual","requireSignedCommits":true}';
      const mode = id === 'pulls' ? 'pull' : 'gitops';
      await store.write(async (trx) => {
        const change = { connectivity_mode: mode, git_settings: git } as const;
        await trx.updateTable('clusters').set(change).where('id', '=', id).execute();
      });
    }
    await rotateCommitSigningKey({ ...deps(), commitSigning: replica() }, admin);
    expect(notified).toEqual(['config:requires']);
  });

  it('takes no more keys than /config holds', async () => {
    const signing = replica();
    await signing.sign('org-1', PAYLOAD);
    const [row] = await signing.list('org-1');
    if (row === undefined) throw new Error('no key');
    const rows = Array.from({ length: MAX_COMMIT_SIGNERS - 1 }, (_, n) => ({
      ...row,
      id: `k-${n}`,
      private_key_sealed: null,
    }));
    await store.write(async (trx) => void (await trx.insertInto('commit_signing_keys').values(rows).execute()));
    const change = { ...deps(), commitSigning: signing };
    await expect(rotateCommitSigningKey(change, admin)).rejects.toThrow('200 keys count for commits');
    const publicKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea';
    const anna = { principal: 'anna@example.com', publicKey };
    await expect(addCommitSigner(change, admin, anna)).rejects.toThrow('200 keys count for commits');
  });
});
