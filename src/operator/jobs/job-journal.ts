import { isNotFound, isNotTaken } from '../../kube/read-failure.ts';
import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { WorkQueue } from '../../kube/work-queue.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import { Job } from '../../protocol/job.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { Cluster } from '../../resources/cluster.ts';
import type { KubeObject, ObjectRef } from '../../resources/kube-object.ts';
import { CLUSTER_ID_LABEL, MANAGED_BY_LABEL, MANAGED_BY_VALUE, META_FIELD_MANAGER } from '../../resources/labels.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { ownerOf } from '../owned-secret.ts';
import { JOB_STAGES, JobProgress, progressOf, restoredJob, type OpenJob } from './open-job.ts';

/** The Secrets of the journal, one an open job: RBAC grants them by name, so the operator still lists no Secret. */
export const JOURNAL_SLOTS = 100;

export interface JobJournalDeps {
  readonly api: ClusterApi;
  readonly namespace: string;
  readonly cluster: () => Cluster;
  readonly clusterId: () => string;
  /** There is room for one more. */
  readonly onFree: () => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** The journal's Secret would never be taken: the job is too large for one. */
export class JobNotJournaled extends Error {}

const AT_ONCE = 16;
const JOB = 'job';
const PROGRESS = 'progress';

const parseJob = compileParser(Job);
const parseProgress = compileParser(JobProgress);

/** `service-operator-job-00` to `-99`. */
export function slotName(slot: number): string {
  return `service-operator-job-${String(slot).padStart(2, '0')}`;
}

/**
 * What a crash must not lose: each open job, as it was received, with how far it has come and what is still to be reported
 * of it. Written before the ack; changes are written behind, one write at a time an entry, and always the newest.
 */
export class JobJournal {
  readonly #deps: JobJournalDeps;
  readonly #free = new Set(Array.from({ length: JOURNAL_SLOTS }, (_, slot) => slot));
  readonly #queue: WorkQueue;
  /** By slot: what is to stand there; `null`: to be emptied. */
  readonly #wanted = new Map<number, OpenJob | null>();
  readonly #uids = new Map<number, string>();
  /** Slots whose Secret is to be written whole. */
  readonly #lost = new Set<number>();

  constructor(deps: JobJournalDeps) {
    this.#deps = deps;
    this.#queue = new WorkQueue({ ...deps, name: 'job journal', minBackoffMs: 500, maxBackoffMs: 30_000 });
  }

  /** Jobs that it has room for. */
  get room(): number {
    return this.#free.size;
  }

  /** What an earlier process left, entries of another identity dropped. Call once, first. @throws KubeError */
  async load(signal: AbortSignal): Promise<readonly OpenJob[]> {
    const found: OpenJob[] = [];
    const slots = Array.from({ length: JOURNAL_SLOTS }, (_, slot) => slot).values();
    const worker = async (): Promise<void> => {
      for (const slot of slots) {
        const secret = await this.#deps.api.get<SecretObject>(this.#ref(slot), signal);
        if (secret === undefined) continue;
        this.#free.delete(slot);
        if (secret.metadata.uid !== undefined) this.#uids.set(slot, secret.metadata.uid);
        const open = this.#read(slot, secret);
        if (open === undefined) this.#empty(slot);
        else found.push(open);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    // A write that was not answered may have been carried out all the same, and the job stands in a second place.
    const byId = Map.groupBy(found, ({ job }) => job.id);
    return [...byId.values()].flatMap((places) => {
      const [first, ...rest] = places.toSorted((a, b) => JOB_STAGES.indexOf(b.stage) - JOB_STAGES.indexOf(a.stage));
      for (const { slot } of rest) this.#empty(slot);
      return first ?? [];
    });
  }

  /** A free place, kept for the caller. */
  take(): number | undefined {
    const [slot] = this.#free;
    if (slot !== undefined) this.#free.delete(slot);
    return slot;
  }

  giveBack(slot: number): void {
    this.#free.add(slot);
    this.#deps.onFree();
  }

  /** Resolves once the job is in the cluster. @throws KubeError @throws JobNotJournaled */
  async add(open: OpenJob, signal: AbortSignal): Promise<void> {
    const { api, namespace, cluster } = this.#deps;
    const secret: SecretObject = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: slotName(open.slot),
        namespace,
        labels: { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE, [CLUSTER_ID_LABEL]: open.clusterId },
        ownerReferences: [ownerOf(cluster())],
      },
      type: 'Opaque',
      data: { [JOB]: encode(open.job), [PROGRESS]: encode(progressOf(open)) },
    };
    try {
      const { object } = await api.apply(secret, { fieldManager: META_FIELD_MANAGER, force: true }, signal);
      if (object.metadata.uid !== undefined) this.#uids.set(open.slot, object.metadata.uid);
    } catch (error) {
      // A Secret holds 1 MiB, a request 3 MiB. RBAC's 403 is a fault of the installation, not of the job.
      if (!isNotTaken(error) || (error instanceof KubeError && error.status === 403)) throw error;
      throw new JobNotJournaled(`the job is not taken into the journal: ${(error as Error).message}`, { cause: error });
    }
  }

  changed(open: OpenJob): void {
    this.#wanted.set(open.slot, open);
    this.#queue.add(String(open.slot));
  }

  /**
   * Puts back what somebody deleted or emptied, and takes over what a Cluster resource that is gone owns: it would be
   * collected with it.
   *
   * @param isOpen whether the job is still open, once that was looked at
   * @throws KubeError
   */
  async mend(open: OpenJob, isOpen: () => boolean, signal: AbortSignal): Promise<void> {
    const { api, cluster, logger } = this.#deps;
    const secret = await api.get<SecretObject>(this.#ref(open.slot), signal);
    const { metadata, data } = secret ?? {};
    const isOwned = metadata?.ownerReferences?.some(({ uid }) => uid === cluster().metadata.uid) === true;
    const isWhole = isOwned && metadata?.deletionTimestamp === undefined && data?.[JOB] !== undefined;
    if (isWhole || !isOpen()) return;
    logger.warn({ name: slotName(open.slot), job: open.job.id }, 'a job is missing in the journal; it is put back');
    this.#lost.add(open.slot);
    this.changed(open);
  }

  /** The place is free again once its Secret is gone. */
  remove(open: OpenJob): void {
    this.#empty(open.slot);
  }

  /** Writes changes until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#queue.run((slot) => this.#write(Number(slot), signal), signal);
  }

  #empty(slot: number): void {
    this.#wanted.set(slot, null);
    this.#queue.add(String(slot));
  }

  async #write(slot: number, signal: AbortSignal): Promise<void> {
    const open = this.#wanted.get(slot);
    if (open === undefined) return;
    const { api } = this.#deps;
    if (open !== null) {
      this.#wanted.delete(slot);
      const patch = { data: { [PROGRESS]: encode(progressOf(open)) } };
      try {
        if (this.#lost.has(slot)) await this.add(open, signal);
        else await api.mergePatch(this.#ref(slot), patch, { fieldManager: META_FIELD_MANAGER }, signal);
      } catch (error) {
        if (!this.#wanted.has(slot)) this.#wanted.set(slot, open);
        if (!isNotFound(error)) throw error;
        // Somebody deleted it; the job is still open.
        await this.add(open, signal);
      }
      this.#lost.delete(slot);
      return;
    }
    const uid = this.#uids.get(slot);
    try {
      await api.delete(this.#ref(slot), uid === undefined ? {} : { uid }, signal);
    } catch (error) {
      // Another incarnation: not ours to delete, and whoever wrote it reads it.
      if (!(error instanceof KubeError) || error.status !== 409) throw error;
    }
    this.#wanted.delete(slot);
    this.#uids.delete(slot);
    this.#lost.delete(slot);
    this.giveBack(slot);
  }

  #read(slot: number, { metadata, data = {} }: SecretObject): OpenJob | undefined {
    const { logger, clusterId } = this.#deps;
    const name = slotName(slot);
    if (metadata.labels?.[CLUSTER_ID_LABEL] !== clusterId()) {
      logger.warn({ name }, 'a job in the journal is of another cluster record and is dropped');
      return undefined;
    }
    try {
      return restoredJob(parseJob(decode(data[JOB])), clusterId(), slot, parseProgress(decode(data[PROGRESS])));
    } catch (error) {
      // The parser's words may quote the payload.
      logger.error({ name, fault: (error as Error).name }, 'a job in the journal cannot be read and is dropped');
      return undefined;
    }
  }

  #ref(slot: number): ObjectRef {
    return { apiVersion: 'v1', kind: 'Secret', namespace: this.#deps.namespace, name: slotName(slot) };
  }
}

interface SecretObject extends KubeObject {
  data?: Record<string, string>;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64');
}

function decode(text: string | undefined): unknown {
  return parseExactJson(Buffer.from(text ?? '', 'base64').toString('utf8'));
}
