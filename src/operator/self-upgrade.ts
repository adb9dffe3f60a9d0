import { KubeError, type ClusterApi } from '../kube/cluster-api.ts';
import type { Condition } from '../protocol/condition.ts';
import { isReleaseVersion } from '../protocol/version-skew.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { META_FIELD_MANAGER, OPERATOR_CONTAINER, OPERATOR_DEPLOYMENT } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Wake } from '../runtime/wake.ts';
import { rolloutOf, type DeploymentObject } from './rollout.ts';
import { upgradeImage } from './upgrade-image.ts';

export interface SelfUpgradeDeps {
  readonly api: ClusterApi;
  readonly namespace: string;
  /** Of this process. */
  readonly version: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly onCondition: (condition: UpToDate) => void;
}

type UpToDate = Omit<Condition, 'lastTransitionTime'>;

const LOOK_MS = 5000;
const RETRY = { minMs: 1000, maxMs: 60_000 };
/** How often what only a person can change is looked at again. */
const PATIENCE_MS = 60_000;

/**
 * Brings the operator's own Deployment to the version that the control plane asks for, where the Role
 * `service-operator-upgrade` lets it: it replaces the tag of its container's image and nothing else. Level-triggered; asked
 * for nothing it reads and writes nothing. `OperatorUpToDate` says how far it is.
 */
export class SelfUpgrade {
  readonly #deps: SelfUpgradeDeps;
  readonly #wake = new Wake();
  #desired: string | undefined;
  #said = false;
  #failures = 0;

  constructor(deps: SelfUpgradeDeps) {
    this.#deps = deps;
  }

  /** The version that the control plane asks for now. */
  want(version: string | undefined): void {
    if (version === this.#desired) return;
    this.#desired = version;
    this.#failures = 0;
    this.#wake.ring();
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const pause = await this.#step(signal).catch((error: unknown) => this.#failed(error, signal));
      const waiting =
        pause === undefined ? this.#wake.wait(signal) : this.#wake.waitAtMost(pause, this.#deps.clock, signal);
      await waiting.catch(() => undefined);
    }
  }

  /** Answers when to look again, in milliseconds; undefined: when another version is wanted. */
  async #step(signal: AbortSignal): Promise<number | undefined> {
    const desired = this.#desired;
    if (desired === undefined) {
      if (this.#said) this.#say('True', Reason.NoVersionDesired, 'The control plane asks for no version.');
      this.#said = false;
      return undefined;
    }
    if (!isReleaseVersion(desired)) {
      this.#say('False', Reason.UpgradeFailed, `The control plane asks for ${desired}, which is no version.`);
      return undefined;
    }
    const deployment = await this.#read(signal);
    this.#failures = 0;
    if (deployment === undefined) return this.#notAllowed(desired, undefined);
    const containers = deployment.spec?.template?.spec?.containers ?? [];
    const index = containers.findIndex(({ name }) => name === OPERATOR_CONTAINER);
    const image = containers[index]?.image ?? '';
    const next = upgradeImage(image, desired);
    if (next.state === 'pinned') return this.#pinned(desired, next.why);
    if (next.image === image) return this.#rolling(desired, deployment);
    return await this.#patch(desired, { deployment, index, image, next: next.image }, signal);
  }

  /** Undefined where it is not there, or may not be read. */
  async #read(signal: AbortSignal): Promise<DeploymentObject | undefined> {
    try {
      return await this.#deps.api.get<DeploymentObject>(this.#ref(), signal);
    } catch (error) {
      if (error instanceof KubeError && (error.status === 403 || error.status === 404)) return undefined;
      throw error;
    }
  }

  async #patch(
    desired: string,
    found: { readonly deployment: KubeObject; readonly index: number; readonly image: string; readonly next: string },
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { index, image, next } = found;
    const container = `/spec/template/spec/containers/${index}`;
    try {
      await this.#deps.api.jsonPatch(
        this.#ref(),
        [
          // What was looked at must still be so: neither another container nor another image may be hit.
          { op: 'test', path: `${container}/name`, value: OPERATOR_CONTAINER },
          { op: 'test', path: `${container}/image`, value: image },
          { op: 'replace', path: `${container}/image`, value: next },
        ],
        { fieldManager: META_FIELD_MANAGER },
        signal,
      );
    } catch (error) {
      if (error instanceof KubeError && error.status === 403) return this.#notAllowed(desired, next);
      throw error;
    }
    this.#deps.logger.info({ from: image, to: next }, "the operator's Deployment is given another image");
    this.#say('False', Reason.UpgradeInProgress, `The Deployment is given the image ${next}.`);
    return LOOK_MS;
  }

  #rolling(desired: string, deployment: DeploymentObject): number | undefined {
    const rollout = rolloutOf(deployment);
    if (rollout.state === 'failed') {
      const message = `The pods of ${desired} do not become ready: ${rollout.message}. ${this.#deps.version} goes on. Ask for another version, or for this one's image to be put right.`;
      this.#say('False', Reason.UpgradeFailed, message);
      return PATIENCE_MS;
    }
    if (rollout.state === 'done' && this.#deps.version === desired) {
      this.#say('True', Reason.OperatorCurrent, `Version ${desired} runs, as the control plane asks.`);
      return undefined;
    }
    this.#say('False', Reason.UpgradeInProgress, `To ${desired}: ${rollout.message}.`);
    return LOOK_MS;
  }

  #notAllowed(desired: string, image: string | undefined): number | undefined {
    if (desired === this.#deps.version) {
      this.#say('True', Reason.OperatorCurrent, `Version ${desired} runs, as the control plane asks.`);
      return undefined;
    }
    const to = image ?? `<repository>:${desired}`;
    const command = `kubectl -n ${this.#deps.namespace} set image deployment/${OPERATOR_DEPLOYMENT} ${OPERATOR_CONTAINER}=${to}`;
    const message = `The control plane asks for ${desired}, and ${this.#deps.version} runs. This operator may not change its Deployment: run ${command}, or give it the Role service-operator-upgrade.`;
    this.#say('False', Reason.UpgradeNotAllowed, message);
    return PATIENCE_MS * (1 + this.#deps.random());
  }

  #pinned(desired: string, why: string): number {
    const current = desired === this.#deps.version;
    const message = current
      ? `Version ${desired} runs, as the control plane asks.`
      : `The control plane asks for ${desired}, and ${this.#deps.version} runs: ${why}, so it is left alone. Change the image of the Deployment where it is said.`;
    this.#say(current ? 'True' : 'False', current ? Reason.OperatorCurrent : Reason.UpgradePinned, message);
    return PATIENCE_MS;
  }

  #failed(error: unknown, signal: AbortSignal): number {
    if (signal.aborted) return 0;
    this.#failures += 1;
    this.#deps.logger.warn({ err: error }, "the operator's Deployment cannot be looked at or changed now");
    return backoffMs(RETRY, this.#failures, this.#deps.random);
  }

  #say(status: 'True' | 'False', reason: Reason, message: string): void {
    this.#said = true;
    this.#deps.onCondition({ type: 'OperatorUpToDate', status, reason, message });
  }

  #ref(): { apiVersion: string; kind: string; namespace: string; name: string } {
    return { apiVersion: 'apps/v1', kind: 'Deployment', namespace: this.#deps.namespace, name: OPERATOR_DEPLOYMENT };
  }
}
