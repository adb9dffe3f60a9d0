import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import type { KubeObject, ObjectRef } from '../../resources/kube-object.ts';
import { META_FIELD_MANAGER } from '../../resources/labels.ts';
import type { Clock } from '../../runtime/clock.ts';

export const SEQUENCE_CONFIG_MAP = 'service-operator-sequence';

/** Numbers that one write to the ConfigMap pays for. */
const BLOCK = 1000;
const COUNTER = /^\d{1,15}$/;

export interface SequenceDeps {
  readonly api: ClusterApi;
  readonly clock: Clock;
  readonly namespace: string;
  readonly labels: () => Readonly<Record<string, string>>;
}

interface SequenceMap extends KubeObject {
  data?: Record<string, string>;
}

/**
 * `<lease transitions>.<persisted counter>`, greater with every event for ever, restarts included. The ConfigMap holds the
 * first number that was never reserved: a crash skips the rest of a block and repeats nothing.
 *
 * Where the ConfigMap is new or was lost, the part before the point starts from the time in seconds instead of zero, so
 * that what follows still is greater than what any earlier ConfigMap counted.
 */
export class Sequence {
  readonly #deps: SequenceDeps;
  #transitions = 0;
  #next = 0;
  #end = 0;
  #reserving: Promise<void> | undefined;

  constructor(deps: SequenceDeps) {
    this.#deps = deps;
  }

  /** @throws KubeError when the next block cannot be written; nothing is numbered then. */
  async next(signal: AbortSignal): Promise<string> {
    while (this.#next >= this.#end) {
      this.#reserving ??= this.#reserve(signal).finally(() => {
        this.#reserving = undefined;
      });
      await this.#reserving;
    }
    const sequence = `${this.#transitions}.${this.#next}`;
    this.#next += 1;
    return sequence;
  }

  async #reserve(signal: AbortSignal): Promise<void> {
    const ref: ObjectRef = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: this.#deps.namespace,
      name: SEQUENCE_CONFIG_MAP,
    };
    for (let attempt = 1; ; attempt += 1) {
      const live = await this.#deps.api.get<SequenceMap>(ref, signal);
      const counted = live === undefined ? undefined : read(live);
      const transitions = counted?.transitions ?? Math.floor(this.#deps.clock.now().getTime() / 1000);
      const start = counted?.next ?? 0;
      const data = { transitions: String(transitions), next: String(start + BLOCK) };
      try {
        if (live === undefined) await this.#create(ref, data, signal);
        else {
          // The resourceVersion makes two writers reserve different blocks.
          const metadata = { resourceVersion: live.metadata.resourceVersion };
          await this.#deps.api.mergePatch(ref, { metadata, data }, { fieldManager: META_FIELD_MANAGER }, signal);
        }
        this.#transitions = transitions;
        this.#next = start;
        this.#end = start + BLOCK;
        return;
      } catch (error) {
        if (!(error instanceof KubeError) || error.status !== 409 || attempt >= 5) throw error;
      }
    }
  }

  async #create(ref: ObjectRef, data: Record<string, string>, signal: AbortSignal): Promise<void> {
    const metadata = { name: ref.name, namespace: this.#deps.namespace, labels: { ...this.#deps.labels() } };
    await this.#deps.api.create(
      { apiVersion: ref.apiVersion, kind: ref.kind, metadata, data },
      META_FIELD_MANAGER,
      signal,
    );
  }
}

/** Undefined for a ConfigMap that somebody emptied or wrote nonsense into: it counts as lost. */
function read(map: SequenceMap): { readonly transitions: number; readonly next: number } | undefined {
  const { transitions = '', next = '' } = map.data ?? {};
  if (!COUNTER.test(transitions) || !COUNTER.test(next)) return undefined;
  return { transitions: Number(transitions), next: Number(next) };
}
