import type { Reporter } from '../events/report/reporter.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import type { Condition, ResourceRef } from '../protocol/condition.ts';
import type { EventSource } from '../protocol/event.ts';
import { refOf, type KubeObject } from '../resources/kube-object.ts';
import { STATUS_FIELD_MANAGER } from '../resources/labels.ts';
import { statusSourceOf, type StatusSource } from './status-source.ts';
import type { ToldSources } from './told-sources.ts';

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly source?: StatusSource;
}

/** One of our own kinds. */
export type OwnObject = KubeObject & { readonly status?: Status };

export interface StatusDraft {
  readonly conditions: readonly Condition[];
  readonly source: EventSource;
  /** Further members of the kind's status. */
  readonly rest?: Readonly<Record<string, unknown>>;
  /** Only while the object is as it was seen; 409 where it is not. */
  readonly isAsSeen?: boolean;
}

/**
 * The one status write of a pass, under its own field manager; then the report. Nothing is written when nothing changed.
 *
 * @returns the object with its new status, or undefined when there was nothing to write
 * @throws KubeError, 404 when the object is gone
 */
export async function writeStatus<T extends OwnObject>(
  deps: { readonly api: ClusterApi; readonly reporter: Reporter; readonly told?: ToldSources },
  object: T,
  draft: StatusDraft,
  signal: AbortSignal,
): Promise<T | undefined> {
  const generation = object.metadata.generation;
  const status = {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    conditions: draft.conditions,
    source: statusSourceOf(draft.source),
    ...draft.rest,
  };
  // What others added to the status is not ours to compare.
  const before = Object.fromEntries(Object.entries(object.status ?? {}).filter(([key]) => key in status));
  if (canonicalJson(status) === canonicalJson(before)) {
    tellOfDelivery(deps, object, draft);
    return undefined;
  }

  const { uid, name, namespace, resourceVersion } = object.metadata;
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(draft.isAsSeen !== true || resourceVersion === undefined ? {} : { resourceVersion }),
  };
  const written = await deps.api.apply<T>(
    { apiVersion: object.apiVersion, kind: object.kind, metadata, status },
    { fieldManager: STATUS_FIELD_MANAGER, force: true, subresource: 'status' },
    signal,
  );
  deps.told?.note(object, draft.source);
  reportStatus(deps.reporter, object, draft);
  return written.object;
}

/** The status stays as it is, and is that of another delivery now. */
function tellOfDelivery(
  { reporter, told }: { readonly reporter: Reporter; readonly told?: ToldSources },
  object: OwnObject,
  { conditions, source }: StatusDraft,
): void {
  const sourceBefore = told?.before(object, source);
  if (sourceBefore === undefined) return;
  told?.note(object, source);
  reporter.statusChanged({ ref: resourceRefOf(object), before: conditions, after: conditions, source, sourceBefore });
}

/** Tells the reporter of a status that is written; again after a crash, where the event may have been lost. */
export function reportStatus(reporter: Reporter, before: OwnObject, draft: StatusDraft): void {
  const generation = before.metadata.generation;
  const sourceBefore = before.status?.source;
  const isSameSource =
    canonicalJson(sourceBefore ?? {}) === canonicalJson(statusSourceOf(draft.source)) && sourceBefore !== undefined;
  // Of another intent nothing has been reported yet: a failure that looks like the one before is its own all the same.
  const isSameIntent = sourceBefore?.intentId === draft.source.intentId;
  reporter.statusChanged({
    ref: resourceRefOf(before),
    before: isSameIntent ? (before.status?.conditions ?? []) : [],
    after: draft.conditions,
    source: draft.source,
    ...(sourceBefore === undefined ? {} : { sourceBefore: isSameSource ? draft.source : sourceBefore }),
    ...(generation === undefined || generation === before.status?.observedGeneration
      ? {}
      : { observedGeneration: generation }),
  });
}

export function resourceRefOf(object: KubeObject): ResourceRef {
  const { uid, generation } = object.metadata;
  return {
    ...refOf(object),
    ...(uid === undefined ? {} : { uid }),
    ...(generation === undefined ? {} : { generation }),
  };
}
