import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Application } from '../api/applications.ts';
import { call, path } from '../api/client.ts';
import type { Intent } from '../api/intents.ts';
import { newKey } from '../api/new-key.ts';
import { ConfirmDialog } from '../components/dialog.tsx';
import { go } from '../router.ts';

interface UninstallApplicationProps {
  readonly application: Application;
  readonly onClose: () => void;
}

export function UninstallApplication({ application, onClose }: UninstallApplicationProps): JSX.Element {
  const { clusterSlug: cluster, namespace, name, generation } = application;
  // Sent twice by a slow connection, it is one intent all the same.
  const idempotencyKey = useMemo(() => newKey(), []);
  const uninstall = async (): Promise<void> => {
    const { id } = await call<Intent>('POST', path`/clusters/${cluster}/intents`, {
      body: { action: 'uninstall', namespace, name, expectedGeneration: generation },
      idempotencyKey,
    });
    go(path`/intents/${id}`);
  };
  return (
    <ConfirmDialog
      title={`Uninstall ${namespace}/${name}?`}
      action="Uninstall it"
      isDangerous
      typed={name}
      onConfirm={uninstall}
      onClose={onClose}
    >
      <p>
        The release is uninstalled from {cluster} and all that the chart made goes with it, unless its deletion policy
        is <code>Orphan</code>. Volumes and backups go or stay by their own rules. What was asked for stays in the
        history.
      </p>
    </ConfirmDialog>
  );
}
