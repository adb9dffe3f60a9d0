import type { ClusterApi } from '../../src/kube/cluster-api.ts';

export interface Recorded {
  readonly verb:
    | 'get'
    | 'list'
    | 'watch'
    | 'apply'
    | 'create'
    | 'dryRun'
    | 'mergePatch'
    | 'jsonPatch'
    | 'delete'
    | 'podLog'
    | 'version';
  /** `<kind> <namespace>/<name>`, with `#status` for that subresource. */
  readonly about: string;
}

const WRITES: ReadonlySet<string> = new Set(['apply', 'create', 'mergePatch', 'jsonPatch', 'delete']);

/** Passes every call on and writes it down; from a given number of writes on it is as dead as a killed program. */
export class RecordingApi {
  readonly calls: Recorded[] = [];
  readonly api: ClusterApi;
  /** Called before each write; throws to let the program die there. */
  beforeWrite: (write: Recorded) => void = () => undefined;

  constructor(inner: ClusterApi) {
    const record = (verb: Recorded['verb'], about: string): void => {
      const call = { verb, about };
      if (WRITES.has(verb)) this.beforeWrite(call);
      this.calls.push(call);
    };
    const named = (ref: { kind: string; namespace?: string; name: string }): string =>
      `${ref.kind} ${ref.namespace === undefined ? '' : `${ref.namespace}/`}${ref.name}`;
    this.api = {
      get: async (ref, signal) => {
        record('get', named(ref));
        return inner.get(ref, signal);
      },
      list: async (kind, options, signal) => {
        record('list', kind.kind);
        return inner.list(kind, options, signal);
      },
      watch: (kind, options, signal) => {
        record('watch', kind.kind);
        return inner.watch(kind, options, signal);
      },
      apply: async (object, options, signal) => {
        record('apply', `${named({ kind: object.kind, ...object.metadata })}${options.subresource ? '#status' : ''}`);
        return inner.apply(object, options, signal);
      },
      create: async (object, fieldManager, signal, options) => {
        record(options?.dryRun === true ? 'dryRun' : 'create', named({ kind: object.kind, ...object.metadata }));
        return inner.create(object, fieldManager, signal, options);
      },
      mergePatch: async (ref, patch, options, signal) => {
        record('mergePatch', named(ref));
        return inner.mergePatch(ref, patch, options, signal);
      },
      jsonPatch: async (ref, patch, options, signal) => {
        record('jsonPatch', named(ref));
        return inner.jsonPatch(ref, patch, options, signal);
      },
      delete: async (ref, options, signal) => {
        record('delete', named(ref));
        return inner.delete(ref, options, signal);
      },
      podLog: async (pod, options, signal) => {
        record('podLog', named({ kind: 'Pod', ...pod }));
        return inner.podLog(pod, options, signal);
      },
      version: async (signal) => inner.version(signal),
    };
  }

  get writes(): readonly string[] {
    return this.calls.filter(({ verb }) => WRITES.has(verb)).map(({ verb, about }) => `${verb} ${about}`);
  }

  forget(): void {
    this.calls.length = 0;
  }
}
