import { stringify } from 'yaml';
import type { IntentRecord } from '../../../../src/intent/intent-record.ts';
import type { Rendered, Tombstone } from '../../../../src/intent/rendered.ts';
import { INTENT_ID_ANNOTATION, SOURCE_ANNOTATION } from '../../../../src/resources/labels.ts';

/** What a test says of an intent; the rest has defaults. */
export interface Wanted {
  readonly id?: string;
  readonly slug?: string;
  readonly clusterId?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly generation?: number;
  readonly epoch?: number;
  readonly version?: string;
  readonly values?: Record<string, unknown>;
  readonly reason?: string;
  readonly requestedBy?: string;
  readonly time?: string;
}

let counter = 0;

function recordOf(wanted: Wanted, action: IntentRecord['action']): IntentRecord {
  counter += 1;
  return {
    intentVersion: 'v1alpha1',
    id: wanted.id ?? `intent-${process.pid}-${counter}`,
    action,
    namespace: wanted.namespace ?? 'shop',
    name: wanted.name ?? 'podinfo',
    generation: wanted.generation ?? 1,
    requestedBy: wanted.requestedBy ?? 'alice@example.test',
    requestedAt: wanted.time ?? new Date().toISOString(),
    ...(wanted.reason === undefined ? {} : { reason: wanted.reason }),
  };
}

function targetOf(wanted: Wanted): Rendered['target'] {
  const slug = wanted.slug ?? 'prod-eu';
  return { clusterId: wanted.clusterId ?? `c-${slug}`, slug, deliveryEpoch: wanted.epoch ?? 1 };
}

/** An install or update of an application, rendered. */
export function apply(wanted: Wanted = {}): Rendered {
  const intent = { ...recordOf(wanted, 'install'), chartVersion: wanted.version ?? '6.5.0' };
  return applied(wanted, intent, 'ApplicationInstance', {
    chart: {
      type: 'oci',
      url: 'oci://ghcr.io/stefanprodan/charts/podinfo',
      name: 'podinfo',
      version: wanted.version ?? '6.5.0',
    },
    values: wanted.values ?? {},
  });
}

/** An operation, rendered. */
export function operate(wanted: Wanted & { readonly template: string }): Rendered {
  const intent = { ...recordOf(wanted, 'operate'), operationTemplate: wanted.template };
  return applied(wanted, intent, 'Operation', { template: wanted.template });
}

function applied(wanted: Wanted, intent: IntentRecord, kind: string, spec: Record<string, unknown>): Rendered {
  const target = targetOf(wanted);
  const object = {
    apiVersion: kind === 'Operation' ? 'ops.service.io/v1alpha1' : 'apps.service.io/v1alpha1',
    kind,
    metadata: {
      name: intent.name,
      namespace: intent.namespace,
      annotations: {
        [INTENT_ID_ANNOTATION]: intent.id,
        [SOURCE_ANNOTATION]: `${target.deliveryEpoch}.${intent.generation}`,
      },
    },
    spec,
  };
  const idempotencyKey = `apply/${intent.namespace}/${intent.name}@${intent.generation}`;
  return { kind: 'apply', intent, target, idempotencyKey, object, text: stringify(object) };
}

/** An uninstall, rendered. */
export function uninstall(wanted: Wanted = {}): Rendered {
  const intent = recordOf(wanted, 'uninstall');
  const target = targetOf(wanted);
  const tombstone: Tombstone = {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: intent.namespace,
    name: intent.name,
    intentId: intent.id,
    epoch: target.deliveryEpoch,
    generation: intent.generation,
    time: wanted.time ?? intent.requestedAt,
  };
  const idempotencyKey = `delete/${intent.namespace}/${intent.name}@${intent.generation}`;
  return { kind: 'delete', intent, target, idempotencyKey, tombstone, text: `${JSON.stringify(tombstone, null, 2)}\n` };
}
