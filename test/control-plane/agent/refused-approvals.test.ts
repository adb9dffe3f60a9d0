import { afterAll, beforeAll, expect, it } from 'vitest';
import { AgentServer, type Agent } from './agent-server.ts';

let server: AgentServer;
let agent: Agent;

beforeAll(async () => {
  server = await AgentServer.start();
  agent = await server.newAgent('prod-eu');
});
afterAll(async () => await server[Symbol.asyncDispose]());

/** What is audited of one transition of an object. */
async function audited(
  about: string,
  condition: Readonly<Record<string, string>>,
  times = 1,
): Promise<{ kind: string; source: string; summary: string; reason: string | null }[]> {
  const key = crypto.randomUUID();
  const event = {
    eventKey: key,
    kind: 'ConditionTransition',
    resourceRef: { apiVersion: 'apps.service.io/v1alpha1', kind: about, namespace: 'shop', name: 'web', uid: key },
    conditions: [{ lastTransitionTime: '2026-03-01T10:00:00Z', ...condition }],
    timestamp: '2026-03-01T10:00:00Z',
  };
  for (let n = 0; n < times; n += 1) {
    expect((await server.post(agent, '/api/agent/events', { events: [event] })).status).toBe(204);
  }
  return await server.store.db
    .selectFrom('audit')
    .innerJoin('events', 'events.seq', 'audit.event_seq')
    .select(['audit.kind', 'audit.source', 'audit.summary', 'audit.reason'])
    .where('events.event_key', '=', key)
    .execute();
}

it.for(['ApprovalInvalid', 'ApprovalUsed'])('an instance that is Stalled with %s is audited, once', async (reason) => {
  const condition = { type: 'Stalled', status: 'True', reason, message: 'it is of another cluster' };
  expect(await audited('ApplicationInstance', condition, 2)).toEqual([
    {
      kind: 'ApprovalRefused',
      source: 'agent',
      summary: `Stalled (${reason}): it is of another cluster`,
      reason,
    },
  ]);
});

it.for([
  ['ApplicationInstance', { type: 'Stalled', status: 'True', reason: 'ApprovalMissing' }],
  ['ApplicationInstance', { type: 'Stalled', status: 'False', reason: 'ApprovalInvalid' }],
  ['ApplicationInstance', { type: 'Ready', status: 'False', reason: 'ApprovalInvalid' }],
  ['Operation', { type: 'Stalled', status: 'True', reason: 'ApprovalInvalid' }],
] as const)('nothing more is audited than that: %s %o', async ([about, condition]) => {
  expect(await audited(about, condition)).toEqual([]);
});

it('an operation that is blocked by its approval has the one entry of the specification', async () => {
  const condition = { type: 'Blocked', status: 'True', reason: 'ApprovalUsed', message: 'by another' };
  expect(await audited('Operation', condition)).toMatchObject([
    { kind: 'ConditionTransition', summary: 'Blocked (ApprovalUsed): by another' },
  ]);
});

it('a message of any length is cut', async () => {
  const condition = { type: 'Stalled', status: 'True', reason: 'ApprovalInvalid', message: 'x'.repeat(9000) };
  const [entry] = await audited('ApplicationInstance', condition);
  expect(entry?.summary).toHaveLength(2000);
});
