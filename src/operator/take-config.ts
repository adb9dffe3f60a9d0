import type { GitTarget } from '../delivery/gitops/read/git-target.ts';
import type { AgentConfig } from '../protocol/agent-config.ts';
import type { ClusterStatus } from '../resources/cluster.ts';
import { findCondition, type NewCondition } from '../resources/conditions.ts';
import { Reason } from '../resources/reasons.ts';
import type { ClusterStatusWriter } from './cluster-status.ts';
import { projectionOf } from './projection.ts';

export interface TakeConfigDeps {
  readonly status: Pick<ClusterStatusWriter, 'status' | 'conditions' | 'change' | 'forget' | 'setConditions'>;
  /** Ends the passes under way, and makes the change once nothing of them can write any more. */
  readonly changeWay: (change: () => void) => Promise<void>;
  /** The projection is another one. */
  readonly onProjected: (config: AgentConfig) => void;
  readonly openTarget: (config: AgentConfig) => Promise<GitTarget | undefined>;
  readonly read: (target: GitTarget | undefined) => void;
}

/**
 * Makes an answer of `/config` the projection. With another mode or delivery epoch the order is the fence of a switch: what
 * is under way by the old way ends, and only then is anything said of the new one. So the first event with its epoch, a
 * heartbeat too, means that nothing of an older one is in flight or will start (decisions, "Delivery").
 */
export async function takeConfig(
  deps: TakeConfigDeps,
  config: AgentConfig,
  revision: string | undefined,
): Promise<void> {
  const { status } = deps;
  const change = (): void => {
    const isOther = isAnotherWay(status.status, config);
    status.change(projectionOf(config, revision));
    if (isOther) leaveOldWay(deps, config);
    deps.onProjected(config);
  };
  if (isAnotherWay(status.status, config)) await deps.changeWay(change);
  else change();
  // One after the other, so that an address which opens late is not read in another mode.
  try {
    deps.read(await deps.openTarget(config));
  } catch (error) {
    const message = `the Git read credential cannot be opened: ${(error as Error).message}. Register again so that it is sealed to this cluster's key.`;
    status.setConditions([{ type: 'Synced', status: 'False', reason: Reason.SourceUnreachable, message }]);
  }
}

/** The first projection leaves nothing. */
function isAnotherWay({ connectivityMode, deliveryEpoch }: ClusterStatus, config: AgentConfig): boolean {
  if (connectivityMode === undefined) return false;
  return connectivityMode !== config.connectivity_mode || deliveryEpoch !== config.delivery_epoch;
}

/** What was found of the old way is not so of the new one: no revision is applied, and no file has vanished. */
function leaveOldWay({ status, read }: TakeConfigDeps, config: AgentConfig): void {
  const mode = config.connectivity_mode;
  status.forget('appliedRevision', 'attemptedRevision');
  if (mode !== 'gitops') read(undefined);
  const finding =
    mode === 'gitops'
      ? {
          reason: Reason.SourceNotRead,
          message: 'the directory was not read yet since the mode or delivery epoch changed',
        }
      : { reason: Reason.NoSourceHere, message: `nothing is read from a directory in ${mode} mode` };
  const types = ['Synced', 'RemovedWithoutTombstone'].filter(
    (type) => findCondition(status.conditions, type) !== undefined,
  );
  status.setConditions(types.map((type): NewCondition => ({ type, status: 'Unknown', ...finding })));
}
