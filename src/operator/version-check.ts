import type { Condition } from '../protocol/condition.ts';
import { operatorSupport } from '../protocol/version-skew.ts';
import { Reason } from '../resources/reasons.ts';
import type { Logger } from '../runtime/logger.ts';

export interface VersionCheckDeps {
  /** Of this process. */
  readonly version: string;
  readonly logger: Logger;
  readonly onCondition: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
}

/** Says when this operator and its control plane are too far apart. As long as they are not, and were not, it is silent. */
export class VersionCheck {
  readonly #deps: VersionCheckDeps;
  #heard: string | undefined;
  #said = false;

  constructor(deps: VersionCheckDeps) {
    this.#deps = deps;
  }

  /** The control plane's version, from any of its answers. */
  heard(controlPlane: string): void {
    if (controlPlane === this.#heard) return;
    this.#heard = controlPlane;
    const { version, logger, onCondition } = this.#deps;
    const support = operatorSupport(controlPlane, version);
    if (support === undefined) return;
    const both = `The control plane is ${controlPlane}, this operator ${version}`;
    if (support === 'supported') {
      if (!this.#said) return;
      onCondition({ type: 'VersionSupported', status: 'True', reason: Reason.WithinSkew, message: `${both}.` });
      this.#said = false;
      return;
    }
    const newer = support === 'newer';
    const reason = newer ? Reason.ControlPlaneOlder : Reason.OperatorTooOld;
    const message = `${both}: ${newer ? 'upgrade the control plane first' : 'upgrade the operator'}. Both go on as well as they can.`;
    logger.warn({ controlPlane, operator: version }, message);
    onCondition({ type: 'VersionSupported', status: 'False', reason, message });
    this.#said = true;
  }
}
