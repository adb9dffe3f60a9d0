import type { JSX } from 'preact';
import { call, path } from '../api/client.ts';
import type { Intent } from '../api/intents.ts';
import { ConfirmDialog } from '../components/dialog.tsx';

interface CancelIntentProps {
  readonly intent: Intent;
  readonly done: () => void;
  readonly onClose: () => void;
}

/** Cancels an operation, or withdraws what is proposed. */
export function CancelIntent({ intent, done, onClose }: CancelIntentProps): JSX.Element {
  const { id, action, namespace, name, proposal } = intent;
  const isOperation = action === 'operate';
  const cancel = async (): Promise<void> => {
    if (isOperation) await call('POST', path`/intents/${id}/cancel`, { body: {} });
    else await call('POST', path`/proposals/${proposal?.id ?? ''}/supersede`, { body: {} });
    done();
  };
  return (
    <ConfirmDialog
      title={`Cancel ${action} ${namespace}/${name}?`}
      action="Cancel it"
      isDangerous
      onConfirm={cancel}
      onClose={onClose}
    >
      <p>
        {isOperation
          ? 'Where it has not left the control plane it never will. Where it runs, the cluster is told to stop it; what it has done already is not undone.'
          : 'Its proposal is withdrawn, the branch is deleted, and nothing of it reaches the cluster.'}
      </p>
    </ConfirmDialog>
  );
}
