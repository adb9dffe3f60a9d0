import { expressionBuilder, type Expression, type SqlBool } from 'kysely';
import type { Database, IntentState } from '../store/schema.ts';

/** States of an intent whose object is still to come to its cluster, or to begin there. */
const UNDER_WAY: readonly IntentState[] = ['accepted', 'proposed', 'delivered', 'applied'];

/**
 * Of intents, whether a statement of their approval may still be used. What failed before it came to its cluster never
 * comes, and an operation that has failed is not begun by an approval that stayed behind. A failed install or update that is
 * there is tried again by its operator. Nothing looks at that of an uninstall.
 */
export function statementIsNeeded(): Expression<SqlBool> {
  const eb = expressionBuilder<Database, 'intents'>();
  return eb.or([
    eb.and([eb('intents.state', 'in', UNDER_WAY), eb('intents.action', '!=', 'uninstall')]),
    eb.and([
      eb('intents.state', '=', 'failed'),
      eb('intents.action', 'in', ['install', 'update']),
      eb('intents.delivered_at', 'is not', null),
    ]),
  ]);
}
