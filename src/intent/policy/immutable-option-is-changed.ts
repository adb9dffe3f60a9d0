import { releaseNameIsChanged, targetNamespaceIsChanged } from '../../resources/application-instance-rules.ts';
import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import type { Violation } from '../violation.ts';

const RULES = [
  ['releaseName', releaseNameIsChanged],
  ['targetNamespace', targetNamespaceIsChanged],
] as const;

/** An update moves no Helm release: the API server would refuse the object, long after the intent was accepted. */
export function immutableOptionIsChanged(intent: IntentRequest, { lastOptions }: PolicyContext): Violation[] {
  if (intent.action !== 'update' || lastOptions === undefined) return [];
  return RULES.flatMap(([option, rule]): Violation[] => {
    const was = lastOptions[option];
    if (intent[option] === was) return [];
    const message = `${rule.message}; it is ${was ?? 'left out'} now, so leave it out of the update`;
    return [
      { code: 'constraint_violated', path: `/${option}`, message, ...(was === undefined ? {} : { allowed: [was] }) },
    ];
  });
}
