import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import type { Cluster, ClusterStatus } from '../resources/cluster.ts';
import { policyOf } from './projection.ts';

export interface PolicyGateDeps {
  readonly status: () => ClusterStatus;
  readonly cluster: () => Cluster;
  /** It is another one than before; not called for the first. */
  readonly onChange: () => void;
}

/** What is allowed now. Nothing is reconciled before there was a first projection, the one of before a restart included. */
export class PolicyGate {
  readonly #deps: PolicyGateDeps;
  readonly #first = Promise.withResolvers<void>();
  #last = '';

  constructor(deps: PolicyGateDeps) {
    this.#deps = deps;
  }

  /** @throws when there was no projection yet */
  get policy(): ClusterPolicy {
    const policy = this.#read();
    if (policy === undefined) throw new Error('the core runs before there is a projection');
    return policy;
  }

  /** The projection or the Cluster resource may say something else. */
  lookAgain(): void {
    const policy = this.#read();
    if (policy === undefined) return;
    const text = JSON.stringify(policy);
    if (text === this.#last) return;
    const isFirst = this.#last === '';
    this.#last = text;
    if (isFirst) this.#first.resolve();
    else this.#deps.onChange();
  }

  /** Resolves at the first projection, or when aborted. */
  async opened(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => aborted.resolve(), { once: true });
    await Promise.race([this.#first.promise, aborted.promise]);
  }

  #read(): ClusterPolicy | undefined {
    return policyOf(this.#deps.status(), this.#deps.cluster());
  }
}
