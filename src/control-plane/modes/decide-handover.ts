import type { Kysely } from 'kysely';
import type { ConnectivityMode } from '../../protocol/connectivity-mode.ts';
import type { ClusterRow, Database } from '../store/schema.ts';
import { standingFaults } from './standing-faults.ts';
import type { ObjectLeft } from './mode-switch.ts';
import { notAllowed } from './not-allowed.ts';
import { whatIsHandedOver, type DecidingIntent, type HandedOver } from './what-is-handed-over.ts';

/** In which an intent was delivered and has not come to an end. */
const UNDER_WAY: readonly DecidingIntent['state'][] = ['delivered', 'applied'];

/**
 * What a switch brings by the new way, and what it leaves as it is. What was broken before the switch must not stand against
 * it: an object that the cluster no longer allows is left untouched, and of one whose newest intent the cluster was given and
 * cannot apply, that which it has applied is brought. An intent that is passed over so and was under way is delivered anew
 * once the switch is over, and then ends by what becomes of it.
 */
export async function decideHandover(
  db: Kysely<Database>,
  cluster: ClusterRow,
  to: ConnectivityMode,
): Promise<HandedOver> {
  const judged = await whatIsHandedOver(db, cluster.id, to);
  const left: ObjectLeft[] = [...judged.left];
  // A tombstone of what has gone already only takes its file back.
  const bringing = judged.intents.filter(({ state }) => state !== 'removed');
  const refusals = await notAllowed(db, cluster, bringing);
  const faults = await standingFaults(db, cluster, bringing);
  const intents: DecidingIntent[] = [];
  for (const intent of judged.intents) {
    const refusal = refusals.get(intent.id);
    const fault = faults.get(intent.id);
    if (refusal !== undefined) {
      left.push(leave(intent, `${refusal}. It stays in the cluster as it is; allow it again, or delete it there`));
    } else if (fault === undefined) {
      intents.push(intent);
    } else {
      const { applied, why } = fault;
      if (applied !== undefined) intents.push({ ...applied, hasFile: intent.hasFile });
      const instead = applied === undefined ? '' : `; generation ${applied.generation}, which it has, is handed over`;
      const reason = `generation ${intent.generation} was delivered and the cluster could not apply it (${why})${instead}`;
      left.push(leave(intent, `${reason}. It is delivered anew once the switch is over`));
    }
  }
  return { intents, left };
}

function leave(intent: DecidingIntent, reason: string): ObjectLeft {
  const { id, target_kind: kind, namespace, name, state } = intent;
  return { kind, namespace, name, reason, ...(UNDER_WAY.includes(state) ? { intentId: id } : {}) };
}
