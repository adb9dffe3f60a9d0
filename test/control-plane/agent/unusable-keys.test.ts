import { describe, expect, it } from 'vitest';
import { GitSources } from '../../../src/control-plane/git/git-source.ts';
import { rotateSigningKey } from '../../../src/control-plane/rotate-signing-key.ts';
import { findCluster } from '../../../src/control-plane/store/clusters.ts';
import type { ClusterRow } from '../../../src/control-plane/store/schema.ts';
import { newClusterId } from '../../../src/protocol/ids.ts';
import { randomBytes } from 'node:crypto';
import { AgentServer } from './agent-server.ts';
import { jobsIn, JobsServer } from './jobs-server.ts';

/** X25519 gives zeros with it, whatever the private key. */
const ZEROS = { kty: 'OKP', crv: 'X25519', x: Buffer.alloc(32).toString('base64url') };
const REFUSED = { error: 'constraint_violated', message: expect.stringContaining('low order') as string };

async function storeKey(server: AgentServer, id: string, changes: Partial<ClusterRow> = {}): Promise<void> {
  await server.store.write(async (trx) => {
    await trx
      .updateTable('clusters')
      .set({ ...changes, public_key: JSON.stringify(ZEROS) })
      .where('id', '=', id)
      .execute();
  });
}

describe('a key that nothing can be encrypted to', () => {
  it('is refused when it is registered or rotated to, and the token is not used up', async () => {
    await using server = await AgentServer.start();
    const { id, registrationToken } = await server.newCluster('prod-eu');
    const refused = await server.register(registrationToken, { public_key: ZEROS });
    expect(refused).toMatchObject({ status: 400, body: REFUSED });
    const { status, body } = await server.register(registrationToken);
    expect(status).toBe(200);
    const agent = { id, token: (body as { token: string }).token };
    const rotated = await server.post(agent, '/api/agent/credentials/rotate', { public_key: ZEROS });
    expect(rotated).toMatchObject({ status: 400, body: REFUSED });
  });

  it('recovers nothing where it stands stored, in the words of every other refusal', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    await storeKey(server, agent.id);
    const payload = JSON.stringify({ cluster_id: agent.id });
    const answer = await server.call({ method: 'POST', url: '/api/agent/credentials/recover', payload });
    expect(answer).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    const audit = await server.store.db.selectFrom('audit').select('summary').orderBy('id', 'desc').execute();
    expect(audit[0]?.summary).toContain('nothing can be encrypted to the key that it has');
  });

  it('fails a job that would have to be encrypted to it', async () => {
    await using server = await JobsServer.start();
    const security = '{"requireSignedPayloads":false,"requireEncryptedSecretPayloads":true}';
    const agent = await server.newAgent('prod-eu');
    await storeKey(server.agents, agent.id, { security });
    const { intentId } = await server.bring(agent, { values: { a: 1 } });
    expect(jobsIn(await server.poll(agent))).toEqual([]);
    expect(await server.intent(intentId)).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/^EncryptionKeyMissing: .*nothing can be encrypted to/),
    });
  });

  it('seals no secret values, and says whose key it is', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    await storeKey(server.agents, agent.id);
    await expect(server.accept(agent, { secretValues: { a: 1 } })).rejects.toMatchObject({
      code: 'constraint_violated',
      faults: [{ path: '/secretValues', message: expect.stringContaining('the key of this cluster') }],
    });
  });

  it('keeps the credential of the Git source back, in the clear as well', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    await server.store.write(async (trx) => {
      const repository = { id: 'repo-1', organization_id: 'org-1', name: 'fleet', url: '', branch: 'main' };
      await trx
        .insertInto('repositories')
        .values({ ...repository, layout: 'flat', embedded: 1, created_at: server.clock.now().toISOString() })
        .execute();
    });
    const gitops = { connectivity_mode: 'gitops', repository_id: 'repo-1', git_directory: 'clusters/prod-eu' } as const;
    await storeKey(server, agent.id, gitops);
    const sources = new GitSources({
      hostAccesses: { of: async () => await Promise.reject(new Error('there is no repository of another host')) },
      store: server.store,
      masterKey: server.masterKey,
      clock: server.clock,
      baseUrl: () => 'https://cp.example.com',
      commitSigning: { allowedSigners: async () => [] },
      randomBytes,
    });
    const cluster = await findCluster(server.store.db, agent.id);
    expect(await sources.of(cluster as ClusterRow)).toEqual({
      url: 'https://cp.example.com/git/first/clusters/prod-eu.git',
      branch: 'main',
      path: '',
    });
  });
});

describe('what races the deletion of its cluster', () => {
  it('finds no cluster: an intent, and a rotation of the signing key', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const gone = { id: newClusterId(randomBytes), token: '' };
    await expect(server.accept(gone)).rejects.toMatchObject({ code: 'not_found' });
    const { store, masterKey, clock, wakeups } = server.agents;
    const cluster = (await findCluster(store.db, agent.id)) as ClusterRow;
    const admin = {
      roles: [],
      access: [],
      scopes: new Set<never>(),
      tokenHash: 'hash',
      organization: { id: 'org-1', name: 'first' },
      name: 'admin',
    };
    // Deleted after the route found it, before its write.
    const deleted = {
      ...store,
      write: async <T>(work: Parameters<typeof store.write<T>>[0]) =>
        await store.write(async (trx) => {
          for (const table of ['registration_tokens', 'agent_credentials', 'signing_keys'] as const) {
            await trx.deleteFrom(table).where('cluster_id', '=', agent.id).execute();
          }
          await trx.deleteFrom('clusters').where('id', '=', agent.id).execute();
          return await work(trx);
        }),
    };
    await expect(rotateSigningKey({ store: deleted, masterKey, clock, wakeups }, cluster, admin)).rejects.toMatchObject(
      { code: 'not_found' },
    );
  });
});
