import type { ChartSource } from '../protocol/chart.ts';
import { objectIdempotencyKey } from '../protocol/idempotency-key.ts';
import { INSTANCE_OPTION_NAMES } from '../resources/instance-options.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { formatSource } from '../resources/source-annotation.ts';
import type { IntentRecord } from './intent-record.ts';
import { manifestText, sortMembers } from './manifest-text.ts';
import { mergeValues } from './merge-values.ts';
import type { Rendered, RenderTarget, Tombstone } from './rendered.ts';
import { fill, loadTemplate } from './template.ts';

/** What rendering needs besides the intent: from the catalog for install and update, from reports for uninstall. */
export interface RenderInputs {
  readonly chart?: ChartSource;
  readonly defaultValues?: Readonly<Record<string, unknown>>;
  /** UID of the object that an uninstall is about, where the control plane has been told it. */
  readonly uid?: string;
  /** It needs an approval; `statement`: it was given, and travels with the object. */
  readonly approval?: { readonly required: true; readonly statement?: string };
}

const applicationInstance = loadTemplate('application-instance');
const operation = loadTemplate('operation');
const tombstoneTemplate = loadTemplate('tombstone');

/**
 * Renders an intent that passed `checkIntent`. Pure: the control plane and the operator get the same bytes from the same
 * record, target and inputs.
 *
 * @throws TypeError when the record lacks what its action needs; the checks come first
 */
export function renderIntent(record: IntentRecord, target: RenderTarget, inputs: RenderInputs = {}): Rendered {
  switch (record.action) {
    case 'install':
    case 'update':
      return renderApplicationInstance(record, target, inputs);
    case 'operate':
      return apply(record, target, fill(operation, { ...common(record, target), ...operationInputs(record, inputs) }));
    case 'uninstall':
      return renderTombstone(record, target, inputs);
  }
}

function renderApplicationInstance(record: IntentRecord, target: RenderTarget, inputs: RenderInputs): Rendered {
  const values = mergeValues(inputs.defaultValues, record.values);
  const filled = fill(applicationInstance, {
    ...common(record, target),
    catalogEntry: record.catalogEntry,
    chartType: inputs.chart?.type,
    chartUrl: inputs.chart?.url,
    chartName: inputs.chart?.name,
    chartVersion: record.chartVersion,
    values: unlessEmpty(values),
    sealedValues: record.sealedValues,
    ...instanceOptions(record),
    approval: inputs.approval?.statement,
  });
  return apply(record, target, filled);
}

/** What says nothing (`[]`, `{}`, which an intent gives to take an earlier value back) is left out. */
function instanceOptions(record: IntentRecord): Record<string, unknown> {
  return Object.fromEntries(
    INSTANCE_OPTION_NAMES.map((name) => {
      const option: unknown = record[name];
      const saysNothing = typeof option === 'object' && option !== null && Object.keys(option).length === 0;
      return [name, saysNothing ? undefined : sortMembers(option)];
    }),
  );
}

function renderTombstone(record: IntentRecord, target: RenderTarget, inputs: RenderInputs): Rendered {
  const tombstone = fill(tombstoneTemplate, {
    namespace: record.namespace,
    name: record.name,
    uid: inputs.uid,
    intentId: record.id,
    epoch: target.deliveryEpoch,
    generation: record.generation,
    // The record's own time, not the clock's: rendering again must give the same bytes.
    time: record.requestedAt,
  }) as Tombstone;
  return {
    kind: 'delete',
    intent: record,
    target,
    idempotencyKey: keyOf(tombstone.kind, record),
    tombstone,
    text: tombstoneText(tombstone),
  };
}

/** A tombstone as it stands in Git. */
export function tombstoneText(tombstone: Tombstone): string {
  return `${JSON.stringify(tombstone, null, 2)}\n`;
}

function apply(record: IntentRecord, target: RenderTarget, filled: Record<string, unknown>): Rendered {
  const object = filled as KubeObject;
  return {
    kind: 'apply',
    intent: record,
    target,
    idempotencyKey: keyOf(object.kind, record),
    object,
    text: manifestText(object),
  };
}

function keyOf(kind: string, record: IntentRecord): string {
  return objectIdempotencyKey(kind, record.namespace, record.name, record.generation);
}

function common(record: IntentRecord, target: RenderTarget): Record<string, unknown> {
  return {
    name: record.name,
    namespace: record.namespace,
    clusterId: target.clusterId,
    source: formatSource({ epoch: target.deliveryEpoch, generation: record.generation }),
    intentId: record.id,
  };
}

function operationInputs(record: IntentRecord, { approval }: RenderInputs): Record<string, unknown> {
  return {
    operationTemplate: record.operationTemplate,
    parameters: unlessEmpty(record.parameters),
    approval,
    templateHash: record.templateHash,
    targetRef: sortMembers(record.targetRef),
    deadlineSeconds: record.deadlineSeconds,
    ttlSecondsAfterFinished: record.ttlSecondsAfterFinished,
    cancel: record.cancel,
  };
}

function unlessEmpty(values: Readonly<Record<string, unknown>> | undefined): unknown {
  return values === undefined || Object.keys(values).length === 0 ? undefined : sortMembers(values);
}
