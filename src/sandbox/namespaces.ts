import type { KubeObject } from '../resources/kube-object.ts';
import { withoutAdmission } from './admission/admission-step.ts';
import { namespaceKind, serviceAccountKind } from './built-in-kinds.ts';
import { listAt, objectAt } from './json-value.ts';
import type { Kind } from './kind.ts';
import type { KindRegistry } from './kind-registry.ts';
import { isFinal } from './object-parts.ts';
import type { ObjectRemover } from './object-remover.ts';
import type { ObjectWriter } from './object-writer.ts';
import { forbidden, notFound } from './status-error.ts';
import type { Storage, StoredEvent } from './storage.ts';

const CONTROLLER = { manager: 'kube-controller-manager', dryRun: false } as const;
const INITIAL = ['default', 'kube-node-lease', 'kube-public', 'kube-system'] as const;

/** New objects go into namespaces that exist and stay. @throws StatusError 404, 403 `NamespaceTerminating` */
export function checkNamespaceTakes(storage: Storage, kind: Kind, namespace: string, name: string): void {
  const found = storage.get('namespaces', undefined, namespace);
  if (found === undefined) throw notFound(namespaceKind, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  throw forbidden(kind, name, `unable to create new content in namespace ${namespace} because it is being terminated`, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ]);
}

/** Gives new namespaces their default service account, and empties and ends terminating ones. */
export class NamespaceController {
  readonly #storage: Storage;
  readonly #registry: KindRegistry;
  readonly #writer: ObjectWriter;
  readonly #remover: ObjectRemover;

  constructor(deps: {
    readonly storage: Storage;
    readonly registry: KindRegistry;
    readonly writer: ObjectWriter;
    readonly remover: ObjectRemover;
  }) {
    this.#storage = deps.storage;
    this.#registry = deps.registry;
    this.#writer = deps.writer;
    this.#remover = deps.remover;
  }

  /** The namespaces every cluster has. */
  createInitial(): void {
    for (const name of INITIAL) {
      const options = { manager: 'kube-apiserver', dryRun: false };
      withoutAdmission(this.#writer.create(namespaceKind, undefined, { metadata: { name } }, options));
    }
  }

  /** Runs after the write that caused the event has been answered. */
  react(event: StoredEvent): void {
    const { object } = event;
    if (event.resource === 'namespaces') this.#reconcile(object.metadata.name);
    else if (event.type === 'DELETED' && object.metadata.namespace !== undefined) {
      this.#reconcile(object.metadata.namespace);
    }
  }

  #reconcile(name: string): void {
    const namespace = this.#storage.get('namespaces', undefined, name);
    if (namespace === undefined) return;
    if (namespace.metadata.deletionTimestamp !== undefined) this.#empty(namespace);
    else if (this.#storage.get('serviceaccounts', name, 'default') === undefined) {
      const account = { metadata: { name: 'default' } };
      withoutAdmission(this.#writer.create(serviceAccountKind, name, account, CONTROLLER));
    }
  }

  #empty(namespace: KubeObject): void {
    const { name } = namespace.metadata;
    let left = 0;
    for (const resource of this.#storage.resources()) {
      const kind = this.#registry.byResource(resource);
      if (kind === undefined || !kind.namespaced) continue;
      for (const object of this.#storage.list(resource, name)) {
        if (object.metadata.deletionTimestamp === undefined) {
          this.#remover.remove(kind, name, object.metadata.name, { policy: 'Background', dryRun: false });
        }
      }
      left += this.#storage.list(resource, name).length;
    }
    if (left > 0) return;
    const current = this.#storage.get('namespaces', undefined, name);
    if (current === undefined) return;
    const emptied = { ...current, spec: { ...objectAt(current, 'spec'), finalizers: [] } };
    if (isFinal(emptied)) this.#storage.remove('namespaces', emptied);
    else if (listAt(current['spec'], 'finalizers').length > 0) this.#storage.put('namespaces', emptied);
  }
}
