import type { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import { findCondition } from '../resources/conditions.ts';
import { Reason } from '../resources/reasons.ts';
import type { ClusterStatusWriter } from './cluster-status.ts';

export interface ServedConfigDeps {
  readonly status: () => Pick<ClusterStatusWriter, 'status' | 'conditions' | 'change' | 'setConditions'>;
  /** What is allowed may be something else. */
  readonly onChange: () => void;
}

/**
 * Whether the control plane has a configuration to give, and the only writer of `ConfigurationServed`. `GET /config` is ours
 * and not the specification's. Without it the mode is the one that the registration named, and nothing is allowed here that
 * was not before: who may install what where is the control plane's to say, and nobody else's instead of it.
 */
export class ServedConfig {
  readonly #deps: ServedConfigDeps;
  #registered: ConnectivityMode | undefined;

  constructor(deps: ServedConfigDeps) {
    this.#deps = deps;
  }

  /** A registration named this mode. */
  registered(mode: ConnectivityMode): void {
    this.#registered = mode;
  }

  /** Called when it becomes known, and at each change. */
  tell(isServed: boolean): void {
    const type = 'ConfigurationServed';
    const writer = this.#deps.status();
    if (isServed) {
      if (findCondition(writer.conditions, type)?.status !== 'False') return;
      const message = 'The control plane tells its configuration by GET /api/agent/config.';
      writer.setConditions([{ type, status: 'True', reason: Reason.ConfigurationFound, message }]);
      return;
    }
    const { connectivityMode, deliveryEpoch } = writer.status;
    const isProjected = deliveryEpoch !== undefined;
    if (!isProjected) writer.change({ connectivityMode: this.#registered ?? connectivityMode ?? 'pull' });
    const meanwhile = isProjected
      ? 'The operator goes by the one that it was told last.'
      : 'So it allows no namespace, catalog entry or operation template here: jobs are taken, and end as failed.';
    const message = `The control plane tells no configuration: its answers carry no Service-Config-Revision, or it has no GET /api/agent/config. ${meanwhile} Upgrade it, or let its answers through whole.`;
    writer.setConditions([{ type, status: 'False', reason: Reason.ConfigurationNotServed, message }]);
    this.#deps.onChange();
  }
}
