import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acceptIntent } from '../../src/control-plane/accept-intent.ts';
import { putCatalogEntry } from '../../src/control-plane/store/catalog-entries.ts';
import { ValuesChecker } from '../../src/control-plane/values-checker.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { AgentServer, type Agent } from './agent/agent-server.ts';
import { INSTALL, PODINFO } from './running-control-plane.ts';

let agents: AgentServer;
let agent: Agent;
let checker: ValuesChecker;

beforeEach(async () => {
  agents = await AgentServer.start();
  agent = await agents.newAgent('prod-eu', { connectivity_mode: 'pull' });
  checker = new ValuesChecker({ clock: systemClock });
});
afterEach(async () => {
  await checker[Symbol.asyncDispose]();
  await agents[Symbol.asyncDispose]();
});

async function put(type: string): Promise<void> {
  const valuesSchema = { properties: { port: { type } } };
  await agents.store.write(async (trx) => {
    await putCatalogEntry(trx, 'org-1', { name: 'podinfo', ...PODINFO, valuesSchema, updatedAt: '' } as never);
  });
}

/** Accepts an intent whose values are checked by `check`. */
async function accept(check: ValuesChecker['check']) {
  const { store, wakeups, clock, masterKey } = agents;
  return await acceptIntent(
    { store, wakeups, clock, randomBytes, masterKey, valuesChecker: { check } },
    {
      clusterId: agent.id,
      request: { ...INSTALL, values: { port: 80 } } as never,
      requestedBy: 'admin',
      requestKey: undefined,
    },
  );
}

describe('acceptIntent', () => {
  it('judges values by the schema that stands when the intent is stored, not by the one before it', async () => {
    await put('integer');
    const schemas: unknown[] = [];
    const accepting = accept(async (organizationId, text) => {
      schemas.push(JSON.parse(text).schema.properties.port.type);
      const outcome = await checker.check(organizationId, text);
      if (schemas.length === 1) await put('string');
      return outcome;
    });
    await expect(accepting).rejects.toMatchObject({ faults: [{ path: '/values/port', allowed: 'string' }] });
    expect(schemas).toEqual(['integer', 'string']);
    await expect(agents.store.db.selectFrom('intents').selectAll().execute()).resolves.toEqual([]);
  });

  it('checks once where nothing changes, outside of the transaction', async () => {
    await put('integer');
    let checks = 0;
    const accepted = await accept(async (organizationId, text) => {
      checks += 1;
      // It would wait for itself, were it within a write.
      await put('integer');
      return await checker.check(organizationId, text);
    });
    expect(accepted).toMatchObject({ generation: 1, state: 'accepted' });
    expect(checks).toBe(1);
  });

  it('gives up with words when the schema changes each time', async () => {
    let count = 0;
    await put('integer');
    const accepting = accept(async () => {
      count += 1;
      await put(count % 2 === 0 ? 'integer' : 'number');
      return { state: 'judged', faults: [] };
    });
    await expect(accepting).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('send the intent again'),
    });
    expect(count).toBe(5);
  });
});
