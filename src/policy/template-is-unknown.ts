import { BUILT_IN_TEMPLATES } from '../operation-templates/built-in-templates.ts';
import { resolveTemplate } from '../operation-templates/resolve-template.ts';
import type { Operation } from '../resources/operation.ts';
import { Reason } from '../resources/reasons.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';

/** There is no operation template of that name, or it runs one that this version does not have. */
export function templateIsUnknown(
  { spec: { template } }: Pick<Operation, 'spec'>,
  { policy }: Pick<PolicySituation, 'policy'>,
): readonly PolicyViolation[] {
  const definitions = policy.templateDefinitions ?? [];
  if (resolveTemplate(template, definitions) !== undefined) return [];
  const runs = definitions.find(({ name }) => name === template)?.run?.template;
  const own = Object.keys(BUILT_IN_TEMPLATES);
  const text =
    runs === undefined
      ? `there is no operation template ${template} here`
      : `operation template ${template} runs ${runs}, which this version does not have`;
  const names = [...own, ...(runs === undefined ? definitions.map(({ name }) => name) : [])];
  const known = [...new Set(names)].filter((name) => policy.operationTemplates.includes(name));
  const message = `${text}; those that are allowed: ${known.length === 0 ? 'none' : known.join(', ')}`;
  return [
    {
      reason: Reason.TemplateNotSupported,
      message,
      fault: { path: '/template', message, allowed: known },
    },
  ];
}
