import { INSTANCE_OPTION_NAMES, type InstanceOptions } from '../resources/instance-options.ts';
import type { IntentRecord } from './intent-record.ts';
import type { IntentRequest } from './intent-request.ts';

/**
 * An update names only what changes: catalog entry, chart version, values and the instance's options that it leaves out
 * are those of the last install or update. A field that is given replaces the earlier one whole; so an intent always holds all that is desired
 * and can be rendered alone. Other actions, and an update of nothing, come back as they are.
 */
export function carryForward(request: IntentRequest, last: IntentRecord | undefined): IntentRequest {
  if (request.action !== 'update' || last === undefined) return request;
  if (last.action !== 'install' && last.action !== 'update') return request;
  const { catalogEntry, chartVersion, values } = last;
  return {
    ...(catalogEntry === undefined ? {} : { catalogEntry }),
    ...(chartVersion === undefined ? {} : { chartVersion }),
    ...(values === undefined ? {} : { values }),
    ...optionsOf(last),
    ...request,
  };
}

/** What of the record is there: one of before has no members of which it says nothing. */
function optionsOf(record: IntentRecord): InstanceOptions {
  return Object.fromEntries(
    INSTANCE_OPTION_NAMES.flatMap((name) => (record[name] === undefined ? [] : [[name, record[name]]])),
  );
}

/** The sealed values that an update leaves as they are: those of the intent before it, unless it brings some itself. */
export function carriedSealedValues(request: IntentRequest, last: IntentRecord | undefined): string | undefined {
  if (request.action !== 'update' || request.secretValues !== undefined || request.sealedValues !== undefined) {
    return undefined;
  }
  return last?.action === 'install' || last?.action === 'update' ? last.sealedValues : undefined;
}
