import { parameterFaults } from '../operation-templates/parameter-faults.ts';
import type { Fault } from '../protocol/app-error.ts';
import { builtInParameters, resolveTemplate, type ResolvedTemplate } from '../operation-templates/resolve-template.ts';
import type { Operation } from '../resources/operation.ts';
import { Reason } from '../resources/reasons.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';

/** A client sends what it likes, and a condition holds only so much. */
const MOST_TOLD = 50;

/** They stand in the spec and, as the template runs with them, in the status, and an object holds only so much. */
const MAX_BYTES = 262_144;

/** The parameters are not those that the template takes; every fault, each with its place. */
export function parametersAreInvalid(
  { spec }: Pick<Operation, 'spec'>,
  { policy }: Pick<PolicySituation, 'policy'>,
): readonly PolicyViolation[] {
  const resolved = resolveTemplate(spec.template, policy.templateDefinitions ?? []);
  if (resolved === undefined) return [];
  const faults = faultsOf(resolved, spec);
  const more = faults.length - MOST_TOLD;
  return faults.slice(0, MOST_TOLD).map((fault, index) => {
    const others = more > 0 && index === MOST_TOLD - 1 ? ` (and ${more} more like it)` : '';
    const message = `${fault.path} ${fault.message}${others}; operation template ${spec.template} says so`;
    return { reason: Reason.ParametersInvalid, message, fault: { ...fault, message: `${fault.message}${others}` } };
  });
}

function faultsOf(resolved: ResolvedTemplate, { parameters = {}, targetRef }: Operation['spec']): readonly Fault[] {
  const given = tooLarge(parameters, 'are');
  if (given.length > 0) return given;
  try {
    const faults = parameterFaults(resolved, parameters, targetRef);
    return faults.length > 0 ? faults : tooLarge(builtInParameters(resolved, parameters), 'make');
  } catch (error) {
    // An admin's template whose own schema does not ask for what it hands on.
    if (!(error instanceof TypeError)) throw error;
    return [{ path: '/parameters', message: error.message }];
  }
}

function tooLarge(parameters: unknown, are: 'are' | 'make'): readonly Fault[] {
  const bytes = Buffer.byteLength(JSON.stringify(parameters));
  if (bytes <= MAX_BYTES) return [];
  const what = are === 'are' ? `are ${bytes} bytes` : `make ${bytes} bytes for what the template runs`;
  return [
    {
      path: '/parameters',
      message: `${what}; at most ${MAX_BYTES} are taken: keep what is larger in a ConfigMap or Secret of the cluster`,
    },
  ];
}
