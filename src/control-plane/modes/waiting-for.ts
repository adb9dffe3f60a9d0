import type { Kysely } from 'kysely';
import type { ClusterRow, Database, ModeSwitchRow } from '../store/schema.ts';
import { decideSwitch, DEFAULT_SWITCH_LIMITS } from './decide-switch.ts';
import { decidedOf, gatherFacts } from './gather-facts.ts';
import { isOver, probesOf } from './mode-switch.ts';

/**
 * What a switch that is not over waits for, in words behind "waiting for", by the decision that its next step is taken by;
 * undefined where it waits for nobody. Time that has run out is not looked at: that ends a switch, and is no wait.
 */
export async function waitingFor(
  db: Kysely<Database>,
  row: ModeSwitchRow,
  cluster: ClusterRow,
  now: Date,
): Promise<string | undefined> {
  if (isOver(row)) return undefined;
  const found = probesOf(row);
  const state = found.every(({ ok }) => ok) ? 'ready' : 'later';
  const probes = row.probes === null ? undefined : ({ state, probes: found } as const);
  const facts = await gatherFacts(db, row, cluster, { contactMs: 0, probes, isDelivering: false });
  const move = decideSwitch(decidedOf(row), facts, now, DEFAULT_SWITCH_LIMITS);
  return move.kind === 'wait' ? move.for : undefined;
}
