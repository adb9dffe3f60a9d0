import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { createInformer } from '../../src/kube/informer.ts';
import { APPLICATION_INSTANCE_KIND, type ApplicationInstance } from '../../src/resources/application-instance.ts';
import { APPS_API_VERSION, FIELD_MANAGER, PUSH_FIELD_MANAGER, SOURCE_ANNOTATION } from '../../src/resources/labels.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';

const WRITERS: readonly (string | undefined)[] = [FIELD_MANAGER, PUSH_FIELD_MANAGER];

/** What a watch of the cluster shows: each application's UID, the writes of its payload, and what is deleted. */
export class WriteCounter implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;
  readonly #list: () => readonly ApplicationInstance[];
  #writes = new Map<string, number>();
  #deleted: string[] = [];

  private constructor(api: ClusterApi) {
    const kind = { apiVersion: APPS_API_VERSION, kind: APPLICATION_INSTANCE_KIND };
    const logger = createLogger('demo', 'silent');
    const informer = createInformer<ApplicationInstance>({
      api,
      kind,
      clock: systemClock,
      random: Math.random,
      logger,
    });
    this.#list = () => informer.list();
    informer.onChange((before, after) => {
      if (after === undefined) this.#deleted.push(before?.metadata.name ?? '');
      else if (payloadOf(before) !== payloadOf(after)) {
        const { name } = after.metadata;
        this.#writes.set(name, (this.#writes.get(name) ?? 0) + 1);
      }
    });
    this.#watching = informer.run(this.#stop.signal);
  }

  static start(api: ClusterApi): WriteCounter {
    return new WriteCounter(api);
  }

  uids(): ReadonlyMap<string, string> {
    return new Map(this.#list().map(({ metadata }) => [metadata.name, String(metadata.uid)]));
  }

  /** By application, since the last time. */
  takeWrites(): ReadonlyMap<string, number> {
    const writes = this.#writes;
    this.#writes = new Map();
    return writes;
  }

  /** Names, since the last time. */
  takeDeleted(): readonly string[] {
    return this.#deleted.splice(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }
}

/** What a writer of payloads changes: whose it is, and which delivery brought it. */
function payloadOf(instance: ApplicationInstance | undefined): string {
  const { annotations, managedFields = [] } = instance?.metadata ?? {};
  const owners = managedFields.filter(({ manager, operation }) => operation === 'Apply' && WRITERS.includes(manager));
  return JSON.stringify([annotations?.[SOURCE_ANNOTATION], owners.map(({ manager }) => manager)]);
}
