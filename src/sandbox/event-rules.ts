import type { KubeObject } from '../resources/kube-object.ts';
import { objectAt, stringAt } from './json-value.ts';
import type { FieldFault } from './status-error.ts';

const TYPES = ['Normal', 'Warning'];

function required(object: KubeObject, field: string): readonly FieldFault[] {
  const given = (stringAt(object, field) ?? '') !== '';
  return given ? [] : [{ reason: 'FieldValueRequired', field, detail: '' }];
}

/** A core/v1 Event lives beside what it is about; one with an `eventTime` says who reports what was done. */
export function eventFaults(object: KubeObject): readonly FieldFault[] {
  const { namespace = '' } = object.metadata;
  const about = stringAt(objectAt(object, 'involvedObject'), 'namespace') ?? '';
  const timed = typeof object['eventTime'] === 'string';
  const homes = timed ? ['default', 'kube-system'] : ['default'];
  const elsewhere = about === '' ? !homes.includes(namespace) : !timed && about !== namespace;
  const type = stringAt(object, 'type') ?? '';
  return [
    ...(elsewhere
      ? [
          {
            reason: 'FieldValueInvalid' as const,
            field: 'involvedObject.namespace',
            value: about,
            detail: 'does not match event.namespace',
          },
        ]
      : []),
    ...(timed
      ? ['reportingComponent', 'reportingInstance', 'action', 'reason'].flatMap((field) => required(object, field))
      : []),
    ...(timed && !TYPES.includes(type)
      ? [{ reason: 'FieldValueInvalid' as const, field: 'type', value: type, detail: 'has invalid value' }]
      : []),
  ];
}
