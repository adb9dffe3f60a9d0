import type { ClusterApi } from '../../../src/kube/cluster-api.ts';
import { createInformer } from '../../../src/kube/informer.ts';
import { refOf, type KubeObject } from '../../../src/resources/kube-object.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createLogger } from '../../../src/runtime/logger.ts';

interface Pod extends KubeObject {
  readonly spec: {
    readonly restartPolicy?: string;
    readonly containers: readonly { name: string; command?: string[] }[];
  };
  readonly status?: { readonly phase?: string };
}

/** Plays the kubelet on a server with controllers and without nodes: pods become ready, those of Jobs come to their end. */
export class PodPlayer implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #playing = new Set<Promise<unknown>>();

  constructor(api: ClusterApi) {
    const logger = createLogger('test', 'silent');
    const kind = { apiVersion: 'v1', kind: 'Pod' };
    const pods = createInformer<Pod>({ api, kind, clock: systemClock, random: () => 0, logger });
    pods.onChange((before, after) => {
      if (before !== undefined || after === undefined) return;
      const status = statusOf(after);
      const playing = api
        .mergePatch(refOf(after), { status }, { fieldManager: 'kubelet', subresource: 'status' })
        // It may be gone by then.
        .catch(() => undefined)
        .finally(() => this.#playing.delete(playing));
      this.#playing.add(playing);
    });
    this.#running = pods.run(this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Promise.all(this.#playing);
  }
}

function statusOf({ spec }: Pod): Readonly<Record<string, unknown>> {
  const [container] = spec.containers;
  const words = container?.command ?? [];
  const phase =
    spec.restartPolicy !== 'Never' || words[0] === 'sleep' ? 'Running' : words[0] === 'false' ? 'Failed' : 'Succeeded';
  const ready = phase === 'Running' ? 'True' : 'False';
  const conditions = ['Ready', 'ContainersReady'].map((type) => ({ type, status: ready }));
  const exitCode = phase === 'Failed' ? 1 : 0;
  const state = phase === 'Running' ? { running: {} } : { terminated: { exitCode, message: `${words.join(' ')}\n` } };
  const name = container?.name ?? '';
  const one = { name, image: '', imageID: '', ready: phase === 'Running', restartCount: 0, state };
  return { phase, conditions, containerStatuses: [one] };
}
