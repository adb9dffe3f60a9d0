import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import type { Violation } from '../violation.ts';

/** Each would wait for the others for ever. Judged on what stands; a circle that comes about otherwise is refused at apply. */
export function dependencyGoesInCircle(
  { dependsOn = [], ...intent }: IntentRequest,
  context: PolicyContext,
): Violation[] {
  const { circle } = context;
  if (circle === undefined) return [];
  const index = dependsOn.findIndex(({ name, namespace = intent.namespace }) => `${namespace}/${name}` === circle[1]);
  const message = `dependsOn goes in a circle, and each would wait for the next for ever: ${circle.join(' -> ')}; take one of these entries out`;
  return [{ code: 'constraint_violated', path: `/dependsOn/${Math.max(0, index)}`, message }];
}
