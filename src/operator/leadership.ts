import type { ClusterConnection } from '../kube/connect-cluster.ts';
import { createInformer } from '../kube/informer.ts';
import { createKubeEventRecorder } from '../kube/kube-event-recorder.ts';
import type { Term } from '../kube/lease/term.ts';
import { CLUSTER_KIND, type Cluster } from '../resources/cluster.ts';
import { OPS_API_VERSION } from '../resources/labels.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { ClusterChoice } from './cluster-choice.ts';
import type { ClusterSession } from './cluster-session.ts';

export interface LeadershipDeps {
  readonly api: ClusterConnection;
  readonly namespace: string;
  readonly stateDir: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * What the leader does, made anew for each term: nothing that an earlier term held in memory is taken for what stands in
 * the cluster now, and nothing of it can write.
 */
export class Leadership {
  readonly #deps: LeadershipDeps;
  #choice: ClusterChoice | undefined;

  constructor(deps: LeadershipDeps) {
    this.#deps = deps;
  }

  get session(): ClusterSession | undefined {
    return this.#choice?.session;
  }

  /** Runs until the term ends; rejects when a session fails. */
  async lead(term: Term): Promise<void> {
    const { namespace, stateDir, clock, random, logger } = this.#deps;
    const api = this.#deps.api.guarded(() => term.check());
    await using recorder = createKubeEventRecorder({ api, component: 'service-operator', clock, logger });
    const kind = { apiVersion: OPS_API_VERSION, kind: CLUSTER_KIND };
    const clusters = createInformer<Cluster>({ api, kind, namespace, clock, random, logger });
    const watching = clusters.run(term.signal);
    try {
      this.#choice = new ClusterChoice({ api, term, recorder, clusters, namespace, stateDir, clock, random, logger });
      await this.#choice.run(term.signal);
    } finally {
      this.#choice = undefined;
      await watching;
    }
  }
}
