import { canonicalJson } from '../protocol/canonical-json.ts';
import type { ObjectRule } from './object-rule.ts';
import type { Operation } from './operation.ts';

type Rule = ObjectRule<Pick<Operation, 'metadata' | 'spec'>>;

const ANEW = 'an operation runs once and as it was asked for; make a new Operation';

export const templateIsChanged: Rule = {
  name: 'templateIsChanged',
  at: 'spec.template',
  cel: 'self == oldSelf',
  message: `template cannot be changed: ${ANEW}`,
  isBroken: (after, before) => before !== undefined && after.spec.template !== before.spec.template,
};

/** CEL does not see into a field that keeps whatever it is given, so the API server cannot hold this one. */
export const parametersAreChanged: Rule = {
  name: 'parametersAreChanged',
  at: 'spec.parameters',
  message: `parameters cannot be changed: ${ANEW}`,
  isBroken: (after, before) => before !== undefined && !isSame(after.spec.parameters, before.spec.parameters),
};

export const targetIsChanged: Rule = {
  name: 'targetIsChanged',
  at: 'spec',
  cel: 'has(self.targetRef) == has(oldSelf.targetRef) && (!has(self.targetRef) || self.targetRef == oldSelf.targetRef)',
  message: `targetRef cannot be changed: ${ANEW}`,
  isBroken: (after, before) => before !== undefined && !isSame(after.spec.targetRef, before.spec.targetRef),
};

export const templateHashIsChanged: Rule = {
  name: 'templateHashIsChanged',
  at: 'spec',
  cel: 'has(self.templateHash) == has(oldSelf.templateHash) && (!has(self.templateHash) || self.templateHash == oldSelf.templateHash)',
  message: `templateHash cannot be changed: ${ANEW}`,
  isBroken: (after, before) => before !== undefined && after.spec.templateHash !== before.spec.templateHash,
};

export const cancelIsTakenBack: Rule = {
  name: 'cancelIsTakenBack',
  at: 'spec',
  cel: '!(has(oldSelf.cancel) && oldSelf.cancel) || (has(self.cancel) && self.cancel)',
  message: `cancel cannot be taken back: ${ANEW}`,
  isBroken: (after, before) => before?.spec.cancel === true && after.spec.cancel !== true,
};

export const approvalIsNoLongerRequired: Rule = {
  name: 'approvalIsNoLongerRequired',
  at: 'spec',
  cel: '!(has(oldSelf.approval) && oldSelf.approval.required) || (has(self.approval) && self.approval.required)',
  message: 'approval.required cannot be taken back: the control plane approves by a statement, nobody by an edit',
  isBroken: (after, before) => before?.spec.approval?.required === true && after.spec.approval?.required !== true,
};

export const OPERATION_RULES: readonly Rule[] = [
  templateIsChanged,
  parametersAreChanged,
  targetIsChanged,
  templateHashIsChanged,
  cancelIsTakenBack,
  approvalIsNoLongerRequired,
];

function isSame(a: unknown, b: unknown): boolean {
  return a === b || (a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b));
}
