import { BUILT_IN_TEMPLATES, isBuiltInTemplate } from '../../operation-templates/built-in-templates.ts';
import type { Operation } from '../../resources/operation.ts';
import type { Ending } from './decide-operation.ts';

/**
 * A failure under the one reason that its template's failures are waited for by, where it has one: the discussion channel
 * is to hear of a backup that came to nothing, whether Velero said so or its deadline did. The reason proper leads the message.
 */
export function toldFailure({ status }: Pick<Operation, 'status'>, ending: Ending): Ending {
  const { end, reason, message } = ending;
  const template = status?.run?.template ?? '';
  const told = isBuiltInTemplate(template) ? BUILT_IN_TEMPLATES[template].failedReason : undefined;
  if (end !== 'Failed' || told === undefined || told === reason) return ending;
  return { ...ending, reason: told, message: `${reason}: ${message}` };
}
