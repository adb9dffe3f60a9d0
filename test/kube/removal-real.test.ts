import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { renderCrds, renderOperator } from '../../src/install/render-install.ts';
import type { ObjectRef } from '../../src/resources/kube-object.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { GrantedCluster, instanceRef } from '../support/granted-cluster.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';

const TEST_TIMEOUT_MS = 120_000;
const DEFINITION = 'applicationinstances.apps.service.io';
const NO_FINALIZERS = '{"metadata":{"finalizers":null}}';
const release: ObjectRef = {
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  namespace: 'shop',
  name: 'podinfo',
};

describeRealCluster(
  'a manifest that is deleted by mistake',
  (start) => {
    let world: GrantedCluster;
    let folder: string;
    let crds: string;
    let operator: string;
    let uid: string | undefined;

    const kubectl = async (...args: string[]): Promise<string> =>
      await new Promise((resolve, reject) => {
        const env = { ...process.env, KUBECONFIG: world.real.kubeconfigPath };
        execFile('kubectl', args, { env, timeout: 60_000 }, (error, out, err) =>
          error === null ? resolve(out) : reject(new Error(err, { cause: error })),
        );
      });

    beforeAll(async () => {
      world = await GrantedCluster.start(start, { controllerManager: true });
      folder = await mkdtemp(join(tmpdir(), 'removal-'));
      crds = join(folder, 'crds.yaml');
      operator = join(folder, 'operator.yaml');
      const files = readInstallFiles();
      await writeFile(crds, renderCrds(files).text);
      await writeFile(
        operator,
        renderOperator(files, { cluster: { slug: 'eu', baseUrl: world.plane.url }, replicas: 1 }).text,
      );
      world.startReleaseController();
      await world.join();
      await world.startOperator();
      await world.accept({ ...INSTALL, name: 'podinfo' });
      await world.until(instanceRef('podinfo'), 'Ready', 'True HelmReleaseReady');
      uid = (await world.read(release))?.metadata.uid;
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
      if (folder !== undefined) await rm(folder, { recursive: true });
    });

    const stillReleased = async (): Promise<void> => {
      const found = await world.read(release);
      expect(found?.metadata).toMatchObject({ uid });
      expect(found?.metadata.deletionTimestamp).toBeUndefined();
      expect(found?.metadata.ownerReferences).toBeUndefined();
    };

    it('as the operator itself uninstalls nothing', { timeout: TEST_TIMEOUT_MS }, async () => {
      expect(await kubectl('delete', '-f', operator)).toContain('deployment.apps "service-operator" deleted');
      await world.stopOperator();
      const instance = await world.read(instanceRef('podinfo'));
      expect(instance?.metadata.deletionTimestamp).toBeUndefined();
      expect(instance?.metadata.finalizers).toEqual(['app.service.io/release']);
      await stillReleased();
    });

    it(
      'as the definitions leaves instances to their finalizer, and releases alone',
      { timeout: TEST_TIMEOUT_MS },
      async () => {
        await kubectl('delete', '--wait=false', '-f', crds);
        const reason = '--output=jsonpath={.status.conditions[?(@.type=="Terminating")].reason}';
        await vi.waitFor(
          async () => expect(await kubectl('get', 'crd', DEFINITION, reason)).toBe('InstanceDeletionInProgress'),
          { timeout: 30_000 },
        );
        const { metadata } = (await world.read(instanceRef('podinfo'))) ?? {};
        expect(metadata?.deletionTimestamp).toBeDefined();
        expect(metadata?.finalizers).toEqual(['app.service.io/release']);
        await stillReleased();
      },
    );

    it('is made good without a release being touched', { timeout: TEST_TIMEOUT_MS }, async () => {
      // docs/install.md, "Deleted by mistake".
      await kubectl('-n', 'shop', 'patch', 'applicationinstance', 'podinfo', '--type=merge', '-p', NO_FINALIZERS);
      await kubectl('wait', '--for=delete', `crd/${DEFINITION}`, 'namespace/service-system', '--timeout=60s');
      await stillReleased();
      await kubectl('apply', '-f', crds);
      await kubectl('wait', '--for=condition=Established', `crd/${DEFINITION}`, '--timeout=30s');
      await vi.waitFor(async () => await kubectl('apply', '-f', operator), { timeout: 30_000 });
      await world.startOperator();
      await world.registerAgain();
      await world.until(instanceRef('podinfo'), 'Ready', 'True HelmReleaseReady');
      await stillReleased();
    });
  },
  { needs: ['controller-manager'] },
);
