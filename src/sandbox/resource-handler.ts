import type { KubeObject } from '../resources/kube-object.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Target } from './address.ts';
import type { AdmissionWebhooks, Caller } from './admission/admission-webhooks.ts';
import type { JsonObject } from './json-value.ts';
import { groupVersion, resourceOf, type Kind } from './kind.ts';
import { listPage, selectorsOf, shownAs } from './listing.ts';
import { parseRemoveOptions, type ObjectRemover } from './object-remover.ts';
import type { Address, ObjectWriter } from './object-writer.ts';
import { jsonPatch } from './patch/json-patch.ts';
import { mergePatch } from './patch/merge-patch.ts';
import { strategicMergePatch } from './patch/strategic-merge-patch.ts';
import { parseObjectBody, parsePatchBody, patchTypeOf, type PatchType } from './request-body.ts';
import { badRequest, methodNotAllowed, notFound } from './status-error.ts';
import type { Storage } from './storage.ts';
import { partialMetadata, tableOf, type Rendering } from './table.ts';
import { checkPatchOptions, writeOptionsOf } from './write-options.ts';

export interface ResourceRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly body: Buffer;
  readonly contentType: string | undefined;
  readonly userAgent: string | undefined;
  readonly rendering: Rendering;
  /** Whose request it is, and where warnings for them go. */
  readonly caller: Caller;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

type ResourceTarget = Extract<Target, { type: 'resource' }>;

/** Carries out the requests about objects, watches aside. */
export class ResourceHandler {
  readonly #storage: Storage;
  readonly #writer: ObjectWriter;
  readonly #remover: ObjectRemover;
  readonly #webhooks: AdmissionWebhooks;
  readonly #clock: Clock;

  constructor(deps: {
    readonly storage: Storage;
    readonly writer: ObjectWriter;
    readonly remover: ObjectRemover;
    readonly webhooks: AdmissionWebhooks;
    readonly clock: Clock;
  }) {
    this.#storage = deps.storage;
    this.#writer = deps.writer;
    this.#remover = deps.remover;
    this.#webhooks = deps.webhooks;
    this.#clock = deps.clock;
  }

  /** @throws StatusError in every way the writers and readers do, 405 */
  async handle(kind: Kind, target: ResourceTarget, request: ResourceRequest): Promise<Answer> {
    const { namespace, name, subresource } = target;
    if (name === undefined) return this.#handleMany(kind, namespace, request);
    const address: Address = { kind, namespace, name, subresource };
    switch (request.method) {
      case 'GET':
        return { status: 200, body: this.#rendered(kind, this.#get(address), request.rendering) };
      case 'PUT': {
        const body = parseObjectBody(request.body, request.contentType);
        const options = writeOptionsOf('UpdateOptions', request.query, request.userAgent);
        const steps = this.#writer.update(address, () => body, { ...options, replaces: true });
        return this.#answer(kind, 200, await this.#webhooks.run(steps, request.caller), request);
      }
      case 'PATCH':
        return this.#patch(address, request);
      case 'DELETE': {
        if (subresource !== '') throw methodNotAllowed();
        const body = parseObjectBody(request.body, request.contentType);
        const options = parseRemoveOptions(body, request.query);
        const steps = this.#remover.removal(kind, namespace, name, options);
        return { status: 200, body: await this.#webhooks.run(steps, request.caller) };
      }
      default:
        throw methodNotAllowed();
    }
  }

  render(kind: Kind, object: KubeObject, rendering: Rendering, headers: boolean): unknown {
    return this.#rendered(kind, object, rendering, headers);
  }

  async #handleMany(kind: Kind, namespace: string | undefined, request: ResourceRequest): Promise<Answer> {
    switch (request.method) {
      case 'GET':
        return { status: 200, body: this.#list(kind, namespace, request) };
      case 'POST': {
        if (kind.namespaced && namespace === undefined) throw methodNotAllowed();
        const body = parseObjectBody(request.body, request.contentType);
        const options = writeOptionsOf('CreateOptions', request.query, request.userAgent);
        const steps = this.#writer.create(kind, namespace, body, options);
        return this.#answer(kind, 201, await this.#webhooks.run(steps, request.caller), request);
      }
      case 'DELETE': {
        const body = parseObjectBody(request.body, request.contentType);
        const options = parseRemoveOptions(body, request.query);
        const matches = selectorsOf(kind, request.query);
        const items = this.#storage.list(resourceOf(kind), namespace).filter(matches);
        for (const { metadata } of items) {
          const steps = this.#remover.removal(kind, metadata.namespace, metadata.name, options, '');
          await this.#webhooks.run(steps, request.caller);
        }
        const shown = items.map((object) => shownAs(kind, object));
        return { status: 200, body: listBody(kind, shown, { resourceVersion: String(this.#storage.revision) }) };
      }
      default:
        throw methodNotAllowed();
    }
  }

  #get(address: Address): KubeObject {
    const { kind, namespace, name } = address;
    const found = this.#storage.get(resourceOf(kind), namespace, name);
    if (found === undefined) throw notFound(kind, name);
    return shownAs(kind, found);
  }

  #list(kind: Kind, namespace: string | undefined, request: ResourceRequest): unknown {
    const { items, metadata } = listPage(this.#storage, kind, namespace, request.query);
    const { as, includeObject } = request.rendering;
    if (as === 'table') {
      return tableOf(kind, items, { includeObject, now: this.#clock.now(), metadata, headers: true });
    }
    if (as === 'object') return listBody(kind, items, metadata);
    const apiVersion = 'meta.k8s.io/v1';
    return { kind: 'PartialObjectMetadataList', apiVersion, metadata, items: items.map(partialMetadata) };
  }

  async #patch(address: Address, request: ResourceRequest): Promise<Answer> {
    const { kind } = address;
    const type = patchTypeOf(request.contentType, kind.custom);
    const { force } = checkPatchOptions(request.query, type);
    const options = writeOptionsOf('PatchOptions', request.query, request.userAgent);
    const patch = parsePatchBody(request.body, type);
    if (type === 'apply') {
      const steps = this.#writer.apply(address, patch, { ...options, force });
      const { object, created } = await this.#webhooks.run(steps, request.caller);
      return this.#answer(kind, created ? 201 : 200, object, request);
    }
    const change = (live: KubeObject): unknown => patched(kind, live, patch, type);
    const steps = this.#writer.update(address, change, { ...options, replaces: false });
    return this.#answer(kind, 200, await this.#webhooks.run(steps, request.caller), request);
  }

  #answer(kind: Kind, status: number, object: KubeObject, request: ResourceRequest): Answer {
    return { status, body: this.#rendered(kind, shownAs(kind, object), request.rendering) };
  }

  #rendered(kind: Kind, object: KubeObject, rendering: Rendering, headers = true): unknown {
    const { as, includeObject } = rendering;
    if (as === 'object') return object;
    if (as === 'metadata') return partialMetadata(object);
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    return tableOf(kind, [object], { includeObject, now: this.#clock.now(), metadata, headers });
  }
}

function listBody(kind: Kind, items: readonly KubeObject[], metadata: JsonObject | object): JsonObject {
  return { kind: `${kind.kind}List`, apiVersion: groupVersion(kind), metadata, items };
}

function patched(kind: Kind, live: KubeObject, patch: unknown, type: Exclude<PatchType, 'apply'>): unknown {
  if (type === 'json') return jsonPatch(live, patch);
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
    throw badRequest('error decoding patch: json: cannot unmarshal into Go value of type map[string]interface {}');
  }
  return type === 'merge' ? mergePatch(live, patch) : strategicMergePatch(kind.structure, live, patch);
}
