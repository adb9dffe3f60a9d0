import type { Progress } from '../first-app/progress.ts';
import { runExample } from '../run-example.ts';
import { takeIntent, type IntentResult } from '../first-app/take-intent.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { setReplicaStage, REPLICAS, type Replica, type ReplicaName, type ReplicaStage } from './stage.ts';

const USAGE = `node examples/postgres-replicas/main.ts [--json]

Two control planes over one PostgreSQL, behind a proxy that sends each request to the next of them; an operator in a
sandbox cluster. An intent that one replica takes reaches the poll that the other holds; one is killed, and it goes on.
Everything listens on 127.0.0.1 and is gone at the end.

  --json   print one JSON object and nothing else`;

interface Scene {
  readonly accepting: ReplicaName;
  readonly holding: ReplicaName;
  readonly intent: IntentResult;
}

/** The replica that holds the operator's poll now, once it has held it for a moment. */
async function holdingReplica(stage: ReplicaStage): Promise<ReplicaName> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const { held } = stage.proxy;
    const name = REPLICAS.find((replica) => replica === held?.replica);
    if (held !== undefined && name !== undefined && performance.now() - held.since > 300) return name;
    if (performance.now() > deadline) throw new Error('no replica holds a poll of the operator after 30 s');
    await systemClock.sleep(20);
  }
}

async function take(stage: ReplicaStage, progress: Progress, at: Replica, version: string): Promise<IntentResult> {
  const none = async (): Promise<void> => undefined;
  const seen = { ...stage.cluster, admin: at.admin, [Symbol.asyncDispose]: none };
  return await takeIntent(
    { stage: seen, progress, clock: systemClock },
    {
      action: 'install',
      namespace: 'shop',
      name: `podinfo-${version.replaceAll('.', '-')}`,
      catalogEntry: 'podinfo',
      chartVersion: version,
    },
  );
}

/** An intent at the replica that does not hold the poll, unless `at` says where. */
async function scene(stage: ReplicaStage, progress: Progress, version: string, at?: ReplicaName): Promise<Scene> {
  const holding = await holdingReplica(stage);
  const accepting = at ?? (holding === 'A' ? 'B' : 'A');
  progress.note(`\nThe operator's poll is held at replica ${holding}; replica ${accepting} takes an intent.`);
  return { accepting, holding, intent: await take(stage, progress, stage.replica(accepting), version) };
}

async function show(stage: ReplicaStage, progress: Progress) {
  const across = await scene(stage, progress, '6.5.0');

  const victim = await holdingReplica(stage);
  const survivor = victim === 'A' ? 'B' : 'A';
  await stage.replica(victim).kill();
  progress.note(
    `\nReplica ${victim}, which held the poll, was killed (SIGKILL). Replica ${survivor} takes the next intent.`,
  );
  const alone = await take(stage, progress, stage.replica(survivor), '6.6.1');

  await stage.replica(victim).startAgain();
  progress.note(`\nReplica ${victim} is back.`);
  const back = await scene(stage, progress, '6.6.0', victim);

  const answered = Object.fromEntries([...stage.proxy.answered].sort(([a], [b]) => a.localeCompare(b)));
  const intents = [across.intent, alone, back.intent];
  return { ok: intents.every(({ state }) => state === 'ready'), across, killed: victim, alone, back, answered };
}

await runExample({
  name: 'postgres-replicas',
  usage: USAGE,
  setStage: setReplicaStage,
  play: show,
  summary: ({ answered }) => {
    const counts = Object.entries(answered).map(([name, count]) => `${count} requests answered by ${name}`);
    return `\nThe proxy had ${counts.join(', ')}.\n`;
  },
});
