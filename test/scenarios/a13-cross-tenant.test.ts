import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { deriveHmacKey, signRequest } from '../../src/protocol/hmac.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { AgentServer } from '../control-plane/agent/agent-server.ts';
import { storeApproval } from '../control-plane/approvals/stored-approval.ts';
import { storeProposal } from '../control-plane/proposals/stored-proposal.ts';
import { INSTALL, RunningControlPlane, type Answer } from '../control-plane/running-control-plane.ts';
import { adminRouteList } from '../support/admin-route-list.ts';

/** What each route of the agent API is called with, so that nothing but the credential is wrong. */
const AGENT_CALLS: Readonly<Record<string, { readonly open?: true; readonly body?: unknown }>> = {
  'GET /api/agent/config': {},
  'GET /api/agent/jobs': {},
  'POST /api/agent/jobs/:jobId/ack': {},
  'POST /api/agent/jobs/:jobId/status': { body: { phase: 'Reconciling', timestamp: '2026-11-28T10:00:00Z' } },
  'POST /api/agent/jobs/:jobId/result': { body: { outcome: 'noop', timestamp: '2026-11-28T10:00:00Z' } },
  'POST /api/agent/events': { body: { events: [] } },
  'POST /api/agent/credentials/rotate': { body: {} },
  // These take no bearer credential: their own tests are of tokens and keys.
  'POST /api/agent/register': { open: true },
  'POST /api/agent/credentials/recover': { open: true },
};

/** A repository of a host that does not answer. */
const REPOSITORY = {
  url: 'https://127.0.0.1:1/acme/fleet.git',
  host: 'git',
  write: { kind: 'token', token: 'a-token-of-nobody' },
};
const TEMPLATE = { run: { template: 'run-job', parameters: { image: 'busybox:1' } } };
/** Routes that make what they name. */
const MAKES: Readonly<Record<string, number>> = {
  'PUT /catalog/:name': 200,
  'PUT /operation-templates/:name': 200,
  'PUT /repositories/:name': 201,
  'PUT /saved-filters/:name': 200,
};

/** What routes of something that has a name need, so that nothing but the name is wrong. */
const NAMED: Readonly<Record<string, { readonly query?: string; readonly body?: unknown }>> = {
  'PUT /repositories/:name': { body: REPOSITORY },
  'PATCH /members/:member': { body: { access: ['admin'] } },
  'PUT /operation-templates/:name': { body: TEMPLATE },
  'PUT /saved-filters/:name': { body: { list: 'clusters', query: '' } },
  'PUT /catalog/:name/credentials': { body: { username: 'robot', password: 'a-password' } },
  'PUT /repositories/:name/credentials': { body: { write: REPOSITORY.write } },
  'POST /repositories/:name/layout': { body: { layout: 'sharded' } },
  'GET /repositories/:name/diff': { query: `?from=${'a'.repeat(40)}&to=${'b'.repeat(40)}` },
  'GET /repositories/:name/blame': { query: '?cluster=prod-eu&namespace=shop&name=podinfo' },
};

/** Whoever asks how to come in has no token yet. */
const OPEN = new Set(['GET /login']);

interface Tenant {
  readonly admin: string;
  readonly id: string;
  readonly agent: string;
  readonly registration: string;
  readonly intent: string;
  readonly proposal: string;
  readonly approval: string;
  readonly job: string;
}

let plane: RunningControlPlane;
let ours: Tenant;
let neighbour: Tenant;
let theirs: Tenant;
let agentRoutes: readonly string[];
let adminRoutes: readonly string[];

async function newTenant(slug: string, admin: string): Promise<Tenant> {
  const as = { token: admin };
  await plane.call('PUT', '/catalog/podinfo', PODINFO_ENTRY, as);
  const cluster = { ...CLUSTER, slug, displayName: slug };
  const { body: created } = await plane.call('POST', '/clusters', cluster, as);
  const id = String(created['cluster'].id);
  const token = String(created['registrationToken']);
  const { body: registered } = await plane.call('POST', '/api/agent/register', { token }, { token: null });
  const { body: issued } = await plane.call('POST', `/clusters/${id}/registration-token`, undefined, as);
  const { body: intent } = await plane.call('POST', `/clusters/${id}/intents`, INSTALL, as);
  const job = await vi.waitFor(
    async () => {
      const [queued] = (await plane.call('GET', `/clusters/${id}/jobs`, undefined, as)).body['items'];
      return (queued as { readonly id: string }).id;
    },
    { timeout: 10_000, interval: 10 },
  );
  return {
    admin,
    id,
    agent: String(registered['token']),
    registration: String(issued['registrationToken']),
    intent: String(intent['id']),
    proposal: await storeProposal(plane, id, `of-${id}`),
    approval: (await storeApproval(plane, id, 'waits')).approval,
    job,
  };
}

const PODINFO_ENTRY = {
  chart: { type: 'oci', url: 'oci://ghcr.io/stefanprodan/charts/podinfo', name: 'podinfo' },
  versions: '>=6.5.0 <7',
};
const CLUSTER = {
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: ['podinfo'],
  allowedOperationTemplates: [],
  connectivityMode: 'pull',
};

/** One call of the agent API as `by`, signed with its credential, of a resource of `of`. */
async function callAgent(route: string, token: string | null, by: Tenant, of: Tenant, body?: unknown): Promise<Answer> {
  const [method = '', pattern = ''] = route.split(' ');
  const query = route === 'GET /api/agent/jobs' ? `?cluster=${of.id}&wait=0` : '';
  const path = `${pattern.replace(':jobId', of.job)}${query}`;
  const key = deriveHmacKey(new Secret(token ?? ''), by.id);
  const signature = signRequest({ key, method, path, body, at: systemClock.now() });
  return await plane.call(method, path, body, { token, headers: { 'service-signature': signature } });
}

function adminPath(pattern: string, of: Tenant): string {
  return pattern
    .replace(':cluster', of.id)
    .replace(':intent', of.intent)
    .replace(':job', of.job)
    .replace(':proposal', of.proposal)
    .replace(':approval', of.approval)
    .replace(/:\w+/g, 'anything');
}

async function refusals(of: Tenant): Promise<string[]> {
  const { body } = await plane.call('GET', `/audit?cluster=${of.id}&limit=500`, undefined, { token: of.admin });
  const kinds = body['items'].map(({ kind }: { kind: string }) => kind) as string[];
  return kinds.filter((kind) => /Mismatch|Misused/.test(kind)).sort();
}

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, {
    SERVICE_RATE_LIMIT_REGISTER: '1000',
    SERVICE_GIT_ALLOW_PRIVATE: 'true',
  });
  ours = await newTenant('prod-eu', plane.token);
  neighbour = await newTenant('prod-us', plane.token);
  theirs = await newTenant('prod-eu', plane.addOrganization('other'));
  await using server = await AgentServer.start();
  await server.app.ready();
  agentRoutes = server.routes.filter((route) => route.includes(' /api/agent/'));
  adminRoutes = await adminRouteList();
}, 90_000);
afterAll(async () => await plane[Symbol.asyncDispose]());

describe('A13: across clusters and organizations', () => {
  it('knows every route of the agent API', () => {
    expect([...agentRoutes].sort()).toEqual(Object.keys(AGENT_CALLS).sort());
  });

  it('refuses every agent route to nobody, to an admin and to a registration token', async () => {
    for (const [route, { open, body }] of Object.entries(AGENT_CALLS)) {
      if (open === true) continue;
      const answers = [
        await callAgent(route, null, ours, ours, body),
        await callAgent(route, ours.admin, ours, ours, body),
        await callAgent(route, theirs.admin, ours, ours, body),
        await callAgent(route, ours.registration, ours, ours, body),
        await callAgent(route, theirs.registration, ours, ours, body),
      ];
      expect([route, ...answers.map(({ status, body: { error } }) => `${status} ${error}`)]).toEqual([
        route,
        '401 missing_token',
        ...Array<string>(4).fill('401 invalid_token'),
      ]);
    }
    expect(await refusals(ours)).toEqual(['RegistrationTokenMisused']);
    expect(await refusals(theirs)).toEqual(['RegistrationTokenMisused']);
  });

  it('refuses to sign for another cluster with a credential of one', async () => {
    for (const [route, { open, body }] of Object.entries(AGENT_CALLS)) {
      if (open === true || !route.startsWith('POST')) continue;
      const answer = await callAgent(route, neighbour.agent, ours, ours, body);
      expect([route, answer.status, answer.body['error']]).toEqual([route, 401, 'invalid_signature']);
    }
  });

  it.for(['neighbour', 'stranger'] as const)("refuses another cluster's ids to its %s, and audits it", async (who) => {
    const by = who === 'neighbour' ? neighbour : theirs;
    const before = plane.query('SELECT id, state, outcome, phase FROM jobs ORDER BY id');
    for (const [route, { body }] of Object.entries(AGENT_CALLS)) {
      const foreign = route === 'POST /api/agent/events' ? { cluster_id: ours.id, events: [] } : body;
      if (!route.includes('/jobs') && foreign === body) continue;
      const answer = await callAgent(route, by.agent, by, ours, foreign);
      expect([route, answer.status, answer.body['error']]).toEqual([route, 403, 'cluster_mismatch']);
      expect(JSON.stringify(answer.body)).not.toContain(ours.job);
    }
    expect(await refusals(by)).toContain('ClusterMismatch');
    expect(plane.query('SELECT id, state, outcome, phase FROM jobs ORDER BY id')).toEqual(before);
  });

  it('refuses every admin route to nobody, to an agent and to a registration token, and audits the latter', async () => {
    for (const route of adminRoutes.filter((candidate) => !OPEN.has(candidate))) {
      const [method = '', pattern = ''] = route.split(' ');
      const path = adminPath(pattern, ours);
      const answers: Answer[] = [];
      for (const token of [null, ours.agent, theirs.agent, ours.registration]) {
        answers.push(await plane.call(method, path, undefined, { token }));
      }
      expect([route, ...answers.map(({ status, body: { error } }) => `${status} ${error}`)]).toEqual([
        route,
        '401 missing_token',
        ...Array<string>(3).fill('401 invalid_token'),
      ]);
    }
    expect(await refusals(ours)).toContain('AgentCredentialMisused');
    expect(await refusals(theirs)).toContain('AgentCredentialMisused');
  });

  it("answers 404 to every id of ours that another organization's admin names, and audits it with us", async () => {
    const before = plane.query('SELECT * FROM clusters ORDER BY id');
    const bodies: Readonly<Record<string, unknown>> = {
      'POST /clusters/:cluster/intents': INSTALL,
      'POST /clusters/:cluster/mode': { mode: 'gitops' },
      'PUT /clusters/:cluster/push-credential': { kubeconfig: 'a: b' },
      'PATCH /clusters/:cluster': { displayName: 'theirs now' },
      'POST /clusters/:cluster/trust-revision': { revision: 'a'.repeat(40) },
      'POST /clusters/:cluster/accept-removals': { revision: 'a'.repeat(40) },
      'POST /proposals/:proposal/comment': { comment: 'ours now' },
    };
    for (const route of adminRoutes.filter((candidate) =>
      /:(cluster|intent|job|proposal|approval)\b/.test(candidate),
    )) {
      const [method = '', pattern = ''] = route.split(' ');
      const answer = await plane.call(method, adminPath(pattern, ours), bodies[route], { token: theirs.admin });
      expect([route, answer.status, answer.body['error']]).toEqual([route, 404, 'not_found']);
    }
    for (const list of ['audit', 'channel']) {
      const answer = await plane.call('GET', `/${list}?cluster=${ours.id}`, undefined, { token: theirs.admin });
      expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } });
    }
    expect(await refusals(ours)).toContain('OrganizationMismatch');
    expect(await refusals(theirs)).not.toContain('OrganizationMismatch');
    expect(plane.query('SELECT * FROM clusters ORDER BY id')).toEqual(before);
  });

  it('takes a name that ours has too for one of theirs, and touches nothing of ours', async () => {
    const url = 'https://hooks.example.com/services/ours';
    expect((await plane.call('POST', '/channel/webhooks', { name: 'chat', url })).status).toBe(201);
    await plane.call('PUT', '/catalog/only-ours', PODINFO_ENTRY);
    await plane.call('POST', '/members', { name: 'only-ours', access: ['viewer'] });
    await plane.call('PUT', '/repositories/only-ours', REPOSITORY);
    await plane.call('PUT', '/operation-templates/only-ours', TEMPLATE);
    const before = plane.query('SELECT * FROM catalog_entries WHERE organization_id <> ?', 'org-other');
    const as = { token: theirs.admin };
    for (const route of adminRoutes.filter((candidate) => /:(webhook|name|member)\b/.test(candidate))) {
      const [method = '', pattern = ''] = route.split(' ');
      const path = pattern
        .replace(':webhook', 'chat')
        .replace(/:(name|member)/, 'only-ours')
        .replace(':commit', 'a'.repeat(40));
      const body = NAMED[route]?.body ?? (method === 'PUT' ? PODINFO_ENTRY : undefined);
      const answer = await plane.call(method, `${path}${NAMED[route]?.query ?? ''}`, body, as);
      // To put an entry or a repository makes one of their own.
      expect([route, answer.status]).toEqual([route, MAKES[route] ?? 404]);
      for (const table of ['catalog_entries', 'repositories', 'operation_templates', 'saved_filters'])
        await plane.execute(`DELETE FROM ${table} WHERE organization_id = 'org-other' AND name LIKE '%only-ours'`);
    }
    const { body: webhooks } = await plane.call('GET', '/channel/webhooks');
    expect(webhooks['items']).toMatchObject([{ name: 'chat' }]);
    expect(plane.query('SELECT * FROM catalog_entries WHERE organization_id <> ?', 'org-other')).toEqual(before);
  });

  it('shows nothing of another organization in any list', async () => {
    // A stream does not end; what it tells to whom has its own test.
    const lists = adminRoutes.filter((candidate) => /^GET [^:]+$/.test(candidate) && candidate !== 'GET /changes');
    for (const route of lists) {
      const { body } = await plane.call('GET', route.slice(4), undefined, { token: theirs.admin });
      const text = JSON.stringify(body);
      for (const id of [ours.id, ours.intent, ours.job, ours.proposal, neighbour.id])
        expect([route, text]).not.toContain(id);
      expect(text).not.toContain(ours.id);
    }
  });
});
