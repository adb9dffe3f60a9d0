import { afterAll, beforeAll, expect, it } from 'vitest';
import { RunningControlPlane } from '../running-control-plane.ts';
import { registerAgent } from './running-agent.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

const DEFAULTS = {
  review: 'direct',
  requiredApprovals: { count: 1 },
  merge: 'automatic',
  pruneOnRemoval: false,
  pruneBreaker: { fraction: 1 / 3, objects: 3 },
  requireSignedCommits: false,
};

async function create(slug: string, connectivityMode: string, git?: unknown) {
  const body = {
    slug,
    displayName: slug,
    allowedNamespaces: [],
    allowedCatalogEntries: [],
    allowedOperationTemplates: [],
  };
  return await plane.call('POST', '/clusters', { ...body, connectivityMode, ...(git === undefined ? {} : { git }) });
}

async function patch(slug: string, git: unknown) {
  return await plane.call('PATCH', `/clusters/${slug}`, { git });
}

it('shows what holds where nothing is set, and takes all of it when a cluster is made', async () => {
  expect(await create('plain', 'gitops')).toMatchObject({ status: 201, body: { cluster: { git: DEFAULTS } } });
  const asked = {
    review: 'proposal',
    requiredApprovals: { count: 2, roles: { security: 1 } },
    merge: 'manual',
    pruneOnRemoval: true,
    pruneBreaker: { fraction: 0.5, objects: 10 },
    requireSignedCommits: true,
  };
  expect(await create('careful', 'gitops', asked)).toMatchObject({ status: 201, body: { cluster: { git: asked } } });
});

it('changes one, keeps the others, and goes back to the default with null', async () => {
  await create('changed', 'gitops', { review: 'proposal', requiredApprovals: { count: 2 } });
  const revision = () =>
    Number(plane.query("SELECT config_revision FROM clusters WHERE slug = 'changed'")[0]?.['config_revision']);
  const before = revision();
  expect(await patch('changed', { merge: 'manual', requiredApprovals: null })).toMatchObject({
    status: 200,
    body: { git: { ...DEFAULTS, review: 'proposal', merge: 'manual' } },
  });
  expect(revision()).toBe(before + 1);
  await patch('changed', { merge: 'manual' });
  expect(revision()).toBe(before + 1);
  expect(plane.query("SELECT summary, actor FROM audit WHERE kind = 'GitSettingsChanged'")).toEqual([
    {
      actor: 'admin',
      summary:
        'cluster changed: review proposal, 1 approvals, merge manual, no prune, unsigned commits too, reports what others edit; was: review proposal, 2 approvals, merge automatic, no prune, unsigned commits too, reports what others edit',
    },
  ]);
});

it('tells the operator what to prune by and where to stop, and only one that prunes', async () => {
  await create('pruned', 'gitops');
  const agent = await registerAgent(plane, 'pruned');
  const gitOf = async () => (await agent.get('/api/agent/config')).body['git'];
  expect(await gitOf()).not.toHaveProperty('prune_breaker');
  await patch('pruned', { pruneOnRemoval: true, pruneBreaker: { fraction: 0.25, objects: 1 } });
  expect(await gitOf()).toMatchObject({
    prune_on_removal: true,
    prune_breaker: { fraction: 0.25, objects: 1 },
  });
});

it.for([
  ['a pull cluster', 'pull', { review: 'proposal' }, '/git'],
  ['a review that is none', 'gitops', { review: 'both' }, '/git/review'],
  ['another repository', 'gitops', { repository: 'other' }, '/git/repository'],
  ['its directory', 'gitops', { path: 'clusters/x' }, '/git/path'],
  ['an unknown setting', 'gitops', { reviewers: 2 }, '/git/reviewers'],
  [
    'a role that is no name',
    'gitops',
    { requiredApprovals: { count: 1, roles: { 'A b': 1 } } },
    '/git/requiredApprovals/roles/A b',
  ],
  [
    'more of a role than approve',
    'gitops',
    { requiredApprovals: { count: 1, roles: { ops: 2 } } },
    '/git/requiredApprovals/roles/ops',
  ],
  [
    'a merge that nobody has seen',
    'gitops',
    { review: 'proposal', requiredApprovals: { count: 0 } },
    '/git/requiredApprovals/count',
  ],
  ['a fraction above one', 'gitops', { pruneBreaker: { fraction: 1.5, objects: 3 } }, '/git/pruneBreaker/fraction'],
] as const)('refuses %s, and names the place', async ([title, mode, git, path]) => {
  const slug = title.replaceAll(/[^a-z]/g, '-');
  await create(slug, mode);
  const answer = await patch(slug, git);
  expect(answer.status).toBe(400);
  expect(answer.body['faults'].map((fault: { path: string }) => fault.path)).toContain(path);
});
