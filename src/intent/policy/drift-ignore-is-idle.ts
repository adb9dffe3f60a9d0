import type { IntentRequest } from '../intent-request.ts';
import type { Violation } from '../violation.ts';

/** Fields would be left alone by a detection that is off. An update is judged with what it carries forward. */
export function driftIgnoreIsIdle({ driftIgnore = [], driftDetection = 'disabled' }: IntentRequest): Violation[] {
  if (driftIgnore.length === 0 || driftDetection !== 'disabled') return [];
  const message =
    'has an effect only where driftDetection is enabled or warn; set one of the two, or give driftIgnore as []';
  return [{ code: 'constraint_violated', path: '/driftIgnore', message }];
}
