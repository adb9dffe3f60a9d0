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
  /** Of the term in which these numbers are given out. */
  readonly lease: { readonly uid: string; readonly transitions: number };
  readonly labels: () => Readonly<Record<string, string>>;
}

interface SequenceMap extends KubeObject {
  data?: Record<string, string>;
}

interface Counted {
  readonly transitions: number;
  readonly next: number;
  /** Which Lease, and which of its transitions, `transitions` stands for. */
  readonly lease: string;
}

/**
 * `<lease transitions>.<persisted counter>`, greater with every event for ever, restarts included. The ConfigMap holds the
 * first number that was never reserved: a crash skips the rest of a block and repeats nothing.
 *
 * The part before the point moves on with each transition of the Lease, and is counted here and not read there: a Lease
 * that was deleted starts from zero again, and what an operator without a Lease has counted must stay below. So the
 * ConfigMap says which transition of which Lease its number stands for; any other one is the next number. Where the
 * ConfigMap is new or was lost too, the number starts from the time in seconds, which is greater than whatever was
 * counted before, since a term lasts longer than a second.
 */
export class Sequence {
  readonly #deps: SequenceDeps;
  /** Of the blocks that this sequence has reserved. */
  #transitions: number | undefined;
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
      const transitions = this.#transitionsAfter(counted);
      const start = counted?.next ?? 0;
      const data = { transitions: String(transitions), next: String(start + BLOCK), lease: this.#lease() };
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

  #transitionsAfter(counted: Counted | undefined): number {
    if (counted === undefined) {
      return Math.max(Math.floor(this.#deps.clock.now().getTime() / 1000), (this.#transitions ?? -1) + 1);
    }
    if (counted.lease === this.#lease()) return counted.transitions;
    if (this.#transitions === undefined) return counted.transitions + 1;
    // Its events would come before those of the one that leads now.
    throw new Error('another operator numbers the events now: this one does not lead any more');
  }

  #lease(): string {
    const { uid, transitions } = this.#deps.lease;
    return `${uid}/${transitions}`;
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
function read(map: SequenceMap): Counted | undefined {
  const { transitions = '', next = '', lease = '' } = map.data ?? {};
  if (!COUNTER.test(transitions) || !COUNTER.test(next)) return undefined;
  return { transitions: Number(transitions), next: Number(next), lease };
}
