import { connectCluster } from '../kube/connect-cluster.ts';
import { DEFAULT_VELERO_NAMESPACE, VELERO_STORAGE_LOCATION } from '../resources/velero.ts';
import { systemClock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sandbox } from './start-sandbox.ts';
import { startVeleroController } from './velero-controller/start-velero-controller.ts';
import { veleroCrds } from './velero-crds.ts';

const FIELD_MANAGER = 'service-sandbox';

/** Gives a sandbox Velero's kinds, a place for backups and the stand-in for its server; resolves once it works. */
export async function startVelero(sandbox: Pick<Sandbox, 'kubeconfig'>, logger: Logger): Promise<AsyncDisposable> {
  await using started = new AsyncDisposableStack();
  const api = started.use(
    connectCluster({
      kubeconfig: { kind: 'text', yaml: sandbox.kubeconfig() },
      userAgent: 'service-sandbox-velero',
      clock: systemClock,
      random: Math.random,
      logger,
    }),
  );
  const namespace = DEFAULT_VELERO_NAMESPACE;
  for (const definition of veleroCrds()) await api.apply(definition, { fieldManager: FIELD_MANAGER });
  const metadata = { name: namespace };
  await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata }, { fieldManager: FIELD_MANAGER });
  const spec = { provider: 'sandbox', objectStorage: { bucket: 'memory' }, default: true };
  const location = { ...VELERO_STORAGE_LOCATION, metadata: { namespace, name: 'default' }, spec };
  await api.apply(location, { fieldManager: FIELD_MANAGER });
  const timing = { backupMs: 0, restoreMs: 0 };
  const controller = started.use(startVeleroController({ api, clock: systemClock, logger, timing }));
  await controller.synced();
  return started.move();
}
