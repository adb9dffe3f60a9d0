import { connectCluster } from '../kube/connect-cluster.ts';
import { defineKinds } from '../kube/define-kinds.ts';
import { DEFAULT_VELERO_NAMESPACE, VELERO_STORAGE_LOCATION } from '../resources/velero.ts';
import type { SandboxPartDeps } from './sandbox-part.ts';
import type { Sandbox } from './start-sandbox.ts';
import { startVeleroController } from './velero-controller/start-velero-controller.ts';
import { veleroCrds } from './velero-crds.ts';

const FIELD_MANAGER = 'service-sandbox';

/** Gives a sandbox Velero's kinds, a place for backups and the stand-in for its server; resolves once it works. */
export async function startVelero(
  sandbox: Pick<Sandbox, 'kubeconfig'>,
  { logger, clock, signal }: SandboxPartDeps,
): Promise<AsyncDisposable> {
  await using started = new AsyncDisposableStack();
  const api = started.use(
    connectCluster({
      kubeconfig: { kind: 'text', yaml: sandbox.kubeconfig() },
      userAgent: 'service-sandbox-velero',
      clock,
      random: Math.random,
      logger,
    }),
  );
  const namespace = DEFAULT_VELERO_NAMESPACE;
  const by = { fieldManager: FIELD_MANAGER };
  await defineKinds(api, veleroCrds(), { ...by, clock, ...(signal === undefined ? {} : { signal }) });
  const metadata = { name: namespace };
  await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata }, by, signal);
  const spec = { provider: 'sandbox', objectStorage: { bucket: 'memory' }, default: true };
  const location = { ...VELERO_STORAGE_LOCATION, metadata: { namespace, name: 'default' }, spec };
  await api.apply(location, by, signal);
  const timing = { backupMs: 0, restoreMs: 0 };
  const controller = started.use(startVeleroController({ api, clock, logger, timing }));
  await controller.synced(signal);
  return started.move();
}
