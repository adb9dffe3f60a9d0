import { definitionHash } from '../operation-templates/definition-hash.ts';
import type { Operation } from '../resources/operation.ts';
import { Reason } from '../resources/reasons.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';

/**
 * The template does something else by now than when the operation was asked for, and perhaps approved. One of a person who
 * writes Operations by hand says no hash, and takes the template as it is. A template that is not there is no matter of
 * this.
 */
export function operationTemplateIsChanged(
  { spec }: Pick<Operation, 'spec'>,
  { policy }: Pick<PolicySituation, 'policy'>,
): readonly PolicyViolation[] {
  const { template, templateHash } = spec;
  const definition = policy.templateDefinitions?.find(({ name }) => name === template);
  if (templateHash === undefined || definition === undefined) return [];
  if (definitionHash(definition) === templateHash) return [];
  const message = `operation template ${template} was changed since this operation was asked for; ask for it anew (servicectl operations run), under another name`;
  return [{ reason: Reason.TemplateChanged, message }];
}
