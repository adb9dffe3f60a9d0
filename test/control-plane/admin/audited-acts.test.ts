import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { adminRouteList } from '../../support/admin-route-list.ts';
import { WebhookReceiver } from '../channel/webhook-receiver.ts';
import { storeApproval } from '../approvals/stored-approval.ts';
import { storeProposal } from '../proposals/stored-proposal.ts';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';
import { ANNA, CLUSTER, KUBECONFIG, OTHER } from './audited-inputs.ts';
import { PEOPLE_ACTS, type Act } from './audited-people.ts';

let plane: RunningControlPlane;
let receiver: WebhookReceiver;
let kid: string;
let commitKey: string;
let modeSwitch: string;
/** Intents that wait for their approvals, on a cluster that none of the other acts is about. */
let approvals: { readonly approved: string; readonly rejected: string };

/** Every act that the admin API has, in an order in which each changes something. */
const ACTS: readonly Act[] = [
  { route: 'PUT /catalog/:name', path: () => '/catalog/podinfo', body: () => PODINFO, audited: 'CatalogEntryUpdated' },
  { route: 'PUT /catalog/:name', path: () => '/catalog/unused', body: () => PODINFO, audited: 'CatalogEntryUpdated' },
  {
    route: 'PUT /catalog/:name/credentials',
    path: () => '/catalog/unused/credentials',
    body: () => ({ username: 'robot', password: 'a-password-of-nobody' }),
    audited: 'CatalogCredentialUpdated',
  },
  {
    route: 'DELETE /catalog/:name/credentials',
    path: () => '/catalog/unused/credentials',
    audited: 'CatalogCredentialDeleted',
  },
  { route: 'DELETE /catalog/:name', path: () => '/catalog/unused', audited: 'CatalogEntryDeleted' },
  { route: 'POST /clusters', body: () => CLUSTER, audited: 'ClusterCreated' },
  {
    route: 'POST /clusters',
    body: () => ({ ...CLUSTER, slug: 'pushed', connectivityMode: 'push', push: { kubeconfig: KUBECONFIG } }),
    audited: 'ClusterCreated',
  },
  {
    route: 'PUT /clusters/:cluster/push-credential',
    path: () => '/clusters/pushed/push-credential',
    body: () => ({ kubeconfig: KUBECONFIG }),
    audited: 'PushCredentialSet',
  },
  {
    route: 'POST /clusters/:cluster/push-credential/probe',
    path: () => '/clusters/pushed/push-credential/probe',
    audited: 'PushCredentialProbed',
  },
  { route: 'PATCH /clusters/:cluster', body: () => ({ displayName: 'other' }), audited: 'ClusterUpdated' },
  {
    route: 'PATCH /clusters/:cluster',
    body: () => ({ git: { merge: 'manual', pruneOnRemoval: true } }),
    audited: 'GitSettingsChanged',
  },
  { route: 'PATCH /clusters/:cluster', body: () => ({ operatorVersion: '0.2.0' }), audited: 'OperatorVersionSet' },
  {
    route: 'POST /clusters/:cluster/accept-removals',
    body: () => ({ revision: `4b825dc642cb6eb9a060e54bf8d69288fbee4904@${'0'.repeat(32)}` }),
    audited: 'RemovalsAccepted',
  },
  { route: 'POST /clusters/:cluster/registration-token', audited: 'RegistrationTokenIssued' },
  { route: 'POST /clusters/:cluster/install-link', audited: 'InstallLinkIssued' },
  { route: 'POST /clusters/:cluster/intents', body: () => INSTALL, audited: 'Deploy' },
  {
    route: 'POST /clusters/:cluster/intents',
    body: () => ({ ...INSTALL, action: 'update', chartVersion: '6.6.0' }),
    audited: 'AppUpdate',
  },
  {
    route: 'POST /clusters/:cluster/intents',
    body: () => ({ action: 'uninstall', namespace: 'shop', name: 'podinfo' }),
    audited: 'AppUninstall',
  },
  {
    route: 'POST /clusters/:cluster/intents',
    body: () => ({
      action: 'operate',
      namespace: 'shop',
      name: 'restart',
      operationTemplate: 'rollout-restart',
      parameters: { kind: 'Deployment', name: 'podinfo' },
    }),
    audited: 'OperationRequested',
  },
  {
    route: 'POST /intents/:intent/cancel',
    path: () => `/intents/${String(plane.query("SELECT id FROM intents WHERE name = 'restart'")[0]?.['id'])}/cancel`,
    audited: 'OperationCancelled',
  },
  {
    route: 'PUT /operation-templates/:name',
    path: () => '/operation-templates/scale',
    body: () => ({ deadlineSeconds: 60 }),
    audited: 'OperationTemplateUpdated',
  },
  {
    route: 'DELETE /operation-templates/:name',
    path: () => '/operation-templates/scale',
    audited: 'OperationTemplateDeleted',
  },
  { route: 'POST /clusters/:cluster/rotate', audited: 'CredentialRotate' },
  { route: 'POST /clusters/:cluster/signing-keys', audited: 'SigningKeyRotated' },
  {
    route: 'DELETE /clusters/:cluster/signing-keys/:kid',
    path: () => `/clusters/prod-eu/signing-keys/${kid}`,
    audited: 'SigningKeyRevoked',
  },
  {
    route: 'POST /commit-signing-keys',
    body: () => ({ principal: 'anna@example.com', publicKey: ANNA }),
    audited: 'CommitSignerAdded',
  },
  { route: 'POST /commit-signing-keys/rotate', audited: 'CommitSigningKeyRotated' },
  {
    route: 'POST /commit-signing-keys/:key/revoke',
    path: () => `/commit-signing-keys/${commitKey}/revoke`,
    audited: 'CommitSigningKeyRevoked',
  },
  {
    route: 'POST /clusters/:cluster/trust-revision',
    body: () => ({ revision: 'a'.repeat(40) }),
    audited: 'RevisionTrusted',
  },
  ...[
    { verb: 'approve', of: 'merged', audited: 'ProposalApproved' },
    { verb: 'merge', of: 'merged', audited: 'ProposalMerging' },
    { verb: 'comment', of: 'rejected', audited: 'ProposalCommented', body: () => ({ comment: 'why?' }) },
    { verb: 'reject', of: 'rejected', audited: 'ProposalRejected' },
    { verb: 'supersede', of: 'superseded', audited: 'ProposalSuperseded' },
  ].map(({ verb, of, ...act }) => ({
    ...act,
    route: `POST /proposals/:proposal/${verb}`,
    path: () => `/proposals/prop-${of}/${verb}`,
  })),
  {
    route: 'POST /clusters/:cluster/mode',
    body: () => ({ mode: 'pull', closeProposals: true }),
    audited: 'ModeSwitch',
  },
  {
    route: 'POST /clusters/:cluster/mode-switches/:switch/cancel',
    path: () => `/clusters/prod-eu/mode-switches/${modeSwitch}/cancel`,
    audited: 'ModeSwitch',
  },
  { route: 'POST /clusters/:cluster/disable', audited: 'ClusterDisabled' },
  { route: 'POST /clusters/:cluster/enable', audited: 'ClusterEnabled' },
  { route: 'POST /clusters/:cluster/revoke', audited: 'CredentialRevoked' },
  { route: 'POST /clusters/:cluster/rebind', audited: 'ClusterRebound' },
  { route: 'DELETE /clusters/:cluster', path: () => '/clusters/prod-us', audited: 'ClusterDeleted' },
  {
    route: 'PATCH /organization',
    body: () => ({ intervals: { heartbeatSeconds: 30 } }),
    audited: 'OrganizationUpdated',
  },
  {
    route: 'PUT /organization/recovery-key',
    body: () => ({ publicKey: generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }) }),
    audited: 'RecoveryKeyChanged',
  },
  { route: 'DELETE /organization/recovery-key', audited: 'RecoveryKeyChanged' },
  {
    route: 'POST /repositories/:name/read-credential',
    path: () => '/repositories/fleet/read-credential',
    audited: 'GitReadCredentialIssued',
  },
  {
    route: 'POST /repositories/:name/layout',
    path: () => '/repositories/fleet/layout',
    body: () => ({ layout: 'sharded' }),
    audited: 'RepositoryLayoutMoved',
  },
  {
    route: 'PUT /repositories/:name',
    path: () => '/repositories/other',
    body: () => OTHER,
    audited: 'RepositoryCreated',
  },
  {
    route: 'PUT /repositories/:name',
    path: () => '/repositories/other',
    body: () => OTHER,
    audited: 'RepositoryUpdated',
  },
  {
    route: 'PUT /repositories/:name/credentials',
    path: () => '/repositories/other/credentials',
    body: () => ({ read: OTHER.write }),
    audited: 'RepositoryCredentialsReplaced',
  },
  { route: 'POST /repositories/:name/probe', path: () => '/repositories/other/probe', audited: 'RepositoryProbed' },
  { route: 'DELETE /repositories/:name', path: () => '/repositories/other', audited: 'RepositoryDeleted' },
  {
    route: 'POST /intents/:intent/approve',
    path: () => `/intents/${approvals.approved}/approve`,
    audited: 'OperationApproved',
  },
  {
    route: 'POST /intents/:intent/reject',
    path: () => `/intents/${approvals.rejected}/reject`,
    audited: 'OperationRejected',
  },
  ...PEOPLE_ACTS,
  {
    route: 'POST /channel/webhooks',
    body: () => ({ name: 'chat', url: receiver.url }),
    audited: 'ChannelWebhookAdded',
  },
  { route: 'POST /channel/webhooks/:webhook/test', audited: 'ChannelWebhookTested' },
  { route: 'POST /channel/webhooks/:webhook/enable', audited: 'ChannelWebhookEnabled' },
  { route: 'DELETE /channel/webhooks/:webhook', audited: 'ChannelWebhookDeleted' },
];

/** Entries of the audit that people made, the newest first. */
async function entries(): Promise<{ readonly id: number; readonly kind: string; readonly actor?: string }[]> {
  return (await plane.call('GET', '/audit?source=user&limit=500')).body['items'];
}

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, {
    SERVICE_CHANNEL_ALLOW_PRIVATE: 'true',
    SERVICE_GIT_ALLOW_PRIVATE: 'true',
  });
  receiver = await WebhookReceiver.start();
  const id = await plane.newCluster('prod-eu');
  const approving = await plane.newCluster('approving');
  approvals = {
    approved: (await storeApproval(plane, approving, 'approved')).intent,
    rejected: (await storeApproval(plane, approving, 'rejected')).intent,
  };
  for (const name of ['merged', 'rejected', 'superseded']) await storeProposal(plane, id, name);
  const { body: issued } = await plane.call('POST', '/clusters/prod-eu/registration-token');
  await plane.call('POST', '/api/agent/register', { token: issued['registrationToken'] }, { token: null });
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

describe('what a person does through the admin API', () => {
  it('has a row for every route that changes something', async () => {
    const changing = (await adminRouteList()).filter((route) => !route.startsWith('GET '));
    expect([...new Set(ACTS.map(({ route }) => route))].sort()).toEqual(changing);
  });

  it.for(ACTS)('is in the audit with who did it: $route as $audited', async ({ route, path, body, audited }) => {
    const [method = '', pattern = ''] = route.split(' ');
    if (audited === 'ChannelWebhookEnabled') await plane.execute("UPDATE channel_webhooks SET disabled_at = 'now'");
    if (audited === 'SigningKeyRevoked') {
      const { body: keys } = await plane.call('GET', '/clusters/prod-eu/signing-keys');
      kid = keys['items'].find(({ state }: { state: string }) => state === 'retired')?.kid ?? keys['items'][0].kid;
    }
    if (audited === 'CommitSigningKeyRevoked') {
      commitKey = (await plane.call('GET', '/commit-signing-keys')).body['items'][0].id;
    }
    if (route.includes(':switch')) modeSwitch = (await plane.call('GET', '/clusters/prod-eu')).body['modeSwitch'].id;
    const before = new Set((await entries()).map(({ id }) => id));
    const at = path?.() ?? pattern.replace(':cluster', 'prod-eu').replace(':webhook', 'chat');
    const answer = await plane.call(method, at, body?.());
    expect([answer.status < 300, answer.body]).toEqual([true, answer.body]);
    const added = (await entries()).filter(({ id }) => !before.has(id));
    expect(added).toContainEqual(expect.objectContaining({ kind: audited, actor: 'admin', source: 'user' }));
  });

  it('is not in the audit where it was refused', async () => {
    const before = await entries();
    for (const { route, body } of ACTS) {
      const [method = '', pattern = ''] = route.split(' ');
      const at = pattern.replace(/:\w+/g, 'nowhere');
      // A PUT makes what is not there.
      if (at === pattern || method === 'PUT') continue;
      const { status } = await plane.call(method, at, body?.());
      expect([route, status >= 400]).toEqual([route, true]);
    }
    expect(await entries()).toEqual(before);
  });
});
