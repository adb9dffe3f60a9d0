import type { Kysely } from 'kysely';
import type { IntentRecord } from '../intent/intent-record.ts';
import type { IntentRequest } from '../intent/intent-request.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { APPLICATION_INSTANCE_KIND } from '../resources/application-instance.ts';
import { gitSettingsOf } from './git/git-settings.ts';
import { lastStandingIntentOf } from './store/intents.ts';
import type { ClusterRow, Database } from './store/schema.ts';

/** Of others that are looked up; a longer chain is judged by the operator alone. */
const MAX_LOOK_UPS = 200;

interface Stop {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly before: Stop | undefined;
}

/**
 * The shortest way from what an intent is about, over `dependsOn` of what stands on the cluster or may come to stand there
 * (it is proposed, or waits for its approval), back to it; undefined where there is none. A write of the same transaction cannot close another one at the same time.
 */
export async function dependencyCircle(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  { namespace, name, dependsOn = [] }: IntentRequest,
): Promise<readonly string[] | undefined> {
  if (dependsOn.length === 0) return undefined;
  const isReviewed = cluster.connectivity_mode === 'gitops' && gitSettingsOf(cluster).review === 'proposal';
  const start: Stop = { key: `${namespace}/${name}`, namespace, name, before: undefined };
  const seen = new Set<string>();
  const waiting = stopsAfter(start, dependsOn);
  // Breadth first, so that the circle which is spelled out is the shortest.
  for (let at = 0; at < waiting.length && seen.size < MAX_LOOK_UPS; at += 1) {
    const stop = waiting[at];
    if (stop === undefined || seen.has(stop.key)) continue;
    if (stop.key === start.key) return wayTo(stop);
    seen.add(stop.key);
    const target = { clusterId: cluster.id, kind: APPLICATION_INSTANCE_KIND, ...nameOf(stop) };
    // Of two that close a circle together each may be approved by somebody who sees the one alone.
    for (const upTo of ['merged', 'undecided'] as const) {
      const standing = await lastStandingIntentOf(trx, target, { upTo, isReviewed });
      if (standing === undefined || standing.action === 'uninstall' || standing.state === 'removed') continue;
      const record = parseExactJson(standing.record) as IntentRecord;
      waiting.push(...stopsAfter(stop, record.dependsOn ?? []));
    }
  }
  return undefined;
}

function stopsAfter(before: Stop, dependsOn: NonNullable<IntentRequest['dependsOn']>): Stop[] {
  return dependsOn.map(({ name, namespace = before.namespace }) => ({
    key: `${namespace}/${name}`,
    namespace,
    name,
    before,
  }));
}

function nameOf({ namespace, name }: Stop): { readonly namespace: string; readonly name: string } {
  return { namespace, name };
}

function wayTo(stop: Stop): readonly string[] {
  const way: string[] = [];
  for (let at: Stop | undefined = stop; at !== undefined; at = at.before) way.unshift(at.key);
  return way;
}
