import { OPERATOR_VERSION } from './operator-version.ts';
import { SelfUpgrade, type SelfUpgradeDeps } from './self-upgrade.ts';
import { VersionCheck } from './version-check.ts';

/** What concerns this operator's own version: is it one that the control plane works with, and one that it asks for? */
export class OwnVersion {
  readonly #check: VersionCheck;
  readonly #upgrade: SelfUpgrade;

  constructor(deps: Omit<SelfUpgradeDeps, 'version'>) {
    const version = OPERATOR_VERSION;
    this.#check = new VersionCheck({ ...deps, version });
    this.#upgrade = new SelfUpgrade({ ...deps, version });
  }

  /** The control plane's version, from any of its answers. */
  heard(controlPlane: string): void {
    this.#check.heard(controlPlane);
  }

  /** The version that the control plane asks for now. */
  want(version: string | undefined): void {
    this.#upgrade.want(version);
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#upgrade.run(signal);
  }
}
