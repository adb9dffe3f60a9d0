import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { servicectl } from '../../../src/cli/servicectl.ts';
import type { AgentConfig } from '../../../src/protocol/agent-config.ts';
import { RunningControlPlane } from '../running-control-plane.ts';
import { registerAgent } from './running-agent.ts';

const TREE = '467b38165e0d32c1adf679dc451c290d05a12385';
const REVISION = `${TREE}@${'0123456789abcdef'.repeat(2)}`;

describe('removals that the breaker held', () => {
  it('are accepted by servicectl, for the one revision, and the operator is told', async () => {
    await using plane = await RunningControlPlane.start();
    const agent = await registerAgent(plane, await plane.newCluster('prod-eu', { git: { pruneOnRemoval: true } }));
    const config = async (): Promise<AgentConfig> =>
      (await agent.get('/api/agent/config')).body as unknown as AgentConfig;
    expect((await config()).git?.accepted_removals).toBeUndefined();
    writeFileSync(join(plane.folder, 'token'), plane.token);
    let said = '';
    const line = `clusters accept-removals prod-eu --revision ${REVISION}`;
    const code = await servicectl(line.split(' '), {
      env: { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: join(plane.folder, 'token') },
      out: (text) => (said += text),
      err: (text) => (said += text),
    });
    expect([code, said]).toEqual([0, `prod-eu: the removals held as ${REVISION} go on; any others are judged anew\n`]);
    expect((await config()).git?.accepted_removals).toBe(REVISION);
    const { body } = await plane.call('GET', '/audit?limit=1');
    expect(body['items'][0]).toMatchObject({
      kind: 'RemovalsAccepted',
      actor: 'admin',
      summary: `cluster prod-eu: removals held as ${REVISION} were meant`,
    });
  });

  it.each([
    ['what is no revision', { connectivityMode: 'gitops' }, 'main', '/revision'],
    ['a tree alone', { connectivityMode: 'gitops', git: { pruneOnRemoval: true } }, TREE, '/revision'],
    ['a cluster that prunes nothing', { connectivityMode: 'gitops' }, REVISION, '/git/pruneOnRemoval'],
    ['a cluster that reads nothing from Git', { connectivityMode: 'pull' }, REVISION, '/git'],
  ])('are not accepted of %s', async (_, mode, revision, path) => {
    await using plane = await RunningControlPlane.start();
    await plane.call('POST', '/clusters', {
      slug: 'prod-eu',
      displayName: 'prod-eu',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: [],
      allowedOperationTemplates: [],
      ...mode,
    });
    const { status, body } = await plane.call('POST', '/clusters/prod-eu/accept-removals', { revision });
    expect([status, body['error'], body['faults'][0].path]).toEqual([400, 'constraint_violated', path]);
  });
});
