import { describe, expect, it } from 'vitest';
import { openGitTarget } from '../../src/operator/open-git-target.ts';
import { policyOf, projectionOf, securityOf } from '../../src/operator/projection.ts';
import { followKeys } from '../../src/operator/signing-key-pins.ts';
import { encryptTo, generateEncryptionKeypair } from '../../src/protocol/jwe.ts';
import type { Cluster, ClusterSpec } from '../../src/resources/cluster.ts';
import { aConfig, CLUSTER_ID } from './fake-control-plane.ts';

function aCluster(spec: Partial<ClusterSpec> = {}, annotations: Record<string, string> = {}): Cluster {
  return {
    apiVersion: 'ops.service.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'eu', annotations },
    spec: { controlPlaneBaseUrl: 'https://control.test', ...spec },
  };
}

describe('the projection', () => {
  it('is the policy, and becomes one again from what stands in the status', () => {
    const config = aConfig({ connectivity_mode: 'gitops', delivery_epoch: 3 });
    const status = { ...projectionOf(config, '17'), ...followKeys({}, config).change };
    expect(status).toMatchObject({ clusterId: CLUSTER_ID, configRevision: '17', odooPublicKey: expect.any(String) });
    expect(policyOf(status, aCluster())).toEqual({
      clusterId: CLUSTER_ID,
      mode: 'gitops',
      deliveryEpoch: 3,
      allowedNamespaces: ['shop'],
      catalogEntries: [],
      operationTemplates: [],
      templateDefinitions: [],
      approvals: { namespaces: [], operationTemplates: [], catalogEntries: [], statements: [] },
      signingKeys: config.signing_public_keys.keys,
      requireSignedPayloads: false,
      requireEncryptedSecretPayloads: false,
      paused: false,
    });
    expect(policyOf(status, aCluster({}, { 'ops.service.io/paused': 'true' }))).toMatchObject({
      paused: true,
      pause: expect.stringContaining('writes are paused by ops.service.io/paused on Cluster'),
    });
    expect(policyOf({}, aCluster())).toBeUndefined();
  });

  it('keeps what needs an approval where a control plane of before approvals says nothing of them', () => {
    const approvals = { namespaces: ['vault'], operation_templates: [], catalog_entries: [], statements: [] };
    const pending = ['shop/podinfo@sha256-x'];
    const status = projectionOf(aConfig({ approvals: { ...approvals, pending } }), '17');
    const later = { ...status, ...projectionOf(aConfig(), '18') };
    expect(policyOf(later, aCluster())?.approvals).toMatchObject({ namespaces: ['vault'], pending });
    const none = projectionOf(aConfig({ approvals: { ...approvals, namespaces: [] } }), '19');
    expect(policyOf({ ...later, ...none }, aCluster())?.approvals?.namespaces).toEqual([]);
  });

  it.each([
    [undefined, undefined, false],
    [true, false, true],
    [false, true, true],
    [true, undefined, true],
  ])('may tighten what the Cluster says (%s), never loosen it (%s)', (own, projected, expected) => {
    const cluster = aCluster(own === undefined ? {} : { security: { requireSignedPayloads: own } });
    const toggles =
      projected === undefined
        ? undefined
        : { requireSignedPayloads: projected, requireEncryptedSecretPayloads: projected };
    expect(securityOf(cluster, toggles).requireSignedPayloads).toBe(expected);
  });
});

describe('where to read', () => {
  const host = { baseUrl: 'https://control.test', caCertificate: 'PEM' };
  const git = {
    url: 'https://control.test/git/fleet.git',
    branch: 'main',
    path: '/clusters/eu/',
    desired_revision: 'r1',
  };

  it('is nowhere outside gitops mode', async () => {
    expect(await openGitTarget(aConfig({ connectivity_mode: 'push', git }), undefined, host)).toBeUndefined();
  });

  it('opens the credential with the key ring, and pins the authority for the control plane’s own host only', async () => {
    const old = await generateEncryptionKeypair();
    const current = await generateEncryptionKeypair();
    const credential = { username: 'service', password: 'svcgit_x' };
    const jwe = await encryptTo(old.publicJwk, JSON.stringify(credential));
    const keys = { publicJwk: current.publicJwk, ring: [current.privateJwk, old.privateJwk] };
    const config = aConfig({ connectivity_mode: 'gitops', git: { ...git, credential_jwe: jwe } });
    expect(await openGitTarget(config, keys, host)).toEqual({
      url: git.url,
      branch: 'main',
      path: 'clusters/eu',
      desiredRevision: 'r1',
      credential,
      caCertificate: 'PEM',
    });
    const elsewhere = aConfig({ connectivity_mode: 'gitops', git: { ...git, url: 'https://git.test/r.git' } });
    expect(await openGitTarget(elsewhere, keys, host)).not.toHaveProperty('caCertificate');
    const stranger = await generateEncryptionKeypair();
    const wrong = { publicJwk: stranger.publicJwk, ring: [stranger.privateJwk] };
    await expect(openGitTarget(config, wrong, host)).rejects.toMatchObject({ code: 'unknown_key' });
  });
});
