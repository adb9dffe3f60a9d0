import { describe, expect, it } from 'vitest';
import { AgentServer, type Agent, type Answer } from './agent-server.ts';

const CONFIG = '/api/agent/config?wait=0';

async function call(server: AgentServer, agent: Agent, version: string): Promise<Answer> {
  return await server.get(agent, CONFIG, { 'user-agent': `service-operator/${version}` });
}

async function stored(server: AgentServer, agent: Agent): Promise<unknown> {
  const row = await server.store.db.selectFrom('clusters').selectAll().where('id', '=', agent.id).executeTakeFirst();
  return row?.operator_version;
}

async function told(server: AgentServer): Promise<string[]> {
  const rows = await server.store.db
    .selectFrom('audit')
    .select('summary')
    .where('kind', '=', 'OperatorTooOld')
    .execute();
  return rows.map(({ summary }) => summary);
}

describe("an operator's version", () => {
  it('is what its newest call says, and no other client changes it', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('eu');
    await call(server, agent, '0.1.0');
    expect(await stored(server, agent)).toBe('0.1.0');
    await call(server, agent, '0.2.0');
    await server.get(agent, CONFIG, { 'user-agent': 'curl/8.0.0' });
    expect(await stored(server, agent)).toBe('0.2.0');
    expect(await told(server)).toEqual([]);
  });

  it('that is too old is served, and told of once for each pair of versions', async () => {
    await using server = await AgentServer.start({}, '0.4.1');
    const agent = await server.newAgent('eu');
    const answers = [];
    for (const version of ['0.1.0', '0.1.0', '0.2.0', '0.1.0']) answers.push(await call(server, agent, version));
    expect(answers.map(({ status, headers }) => [status, headers['service-version']])).toEqual(
      answers.map(() => [200, '0.4.1']),
    );
    expect(await told(server)).toEqual([
      'the operator of eu is version 0.1.0; control plane 0.4.1 works with 0.2 to 0.4. It is served all the same: upgrade it',
    ]);
  });

  it('that is asked for comes with the configuration, and nothing does where none is', async () => {
    await using server = await AgentServer.start();
    const asked = await server.newAgent('eu', { desired_operator_version: '0.2.1' });
    const other = await server.newAgent('us');
    expect((await server.get(asked, CONFIG)).body).toMatchObject({ operator: { desired_version: '0.2.1' } });
    expect((await server.get(other, CONFIG)).body).not.toHaveProperty('operator');
  });
});
