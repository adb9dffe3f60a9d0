/**
 * From an intent that is accepted to Ready seen by the control plane, in the three modes: one control plane, a cluster for
 * each mode, all programs processes of their own, and the modes in turns within each round. Updates of one application,
 * one at a time; first with event batches of 20 ms, then with the default of a second. What the stand-in for the release
 * controller takes, by the API server's own account of writes, is left out and told beside it.
 *
 *   node bench/modes.ts [--rounds 100] [--default-rounds 30] [--json]
 */
import { parseArgs } from 'node:util';
import { systemClock } from '../src/runtime/clock.ts';
import { DEFAULT_INTERVALS } from '../src/protocol/agent-config.ts';
import type { SeenWrite } from './modes/cluster.ts';
import { rowsOf, type ModeRow, type Sample } from './modes/figures.ts';
import { bring, isOurs, startStage, type BenchStage, type Member } from './modes/stage.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    'default-rounds': { type: 'string', default: '30' },
    json: { type: 'boolean', default: false },
  },
});
const APPLICATION = 'podinfo';
/** Of connections, copies and caches that are made once. */
const WARM_UP = 3;

/** Rounds. */
const PROGRESS_EVERY = 10;

/** For writes that come a while after an intent is Ready: the inventory is written once a second. */
const SETTLE_MS = 2000;

interface Part {
  readonly batchMs: number;
  readonly rows: readonly ModeRow[];
  /** What the operator and the control plane wrote to each cluster's API server for an intent, by what was written. */
  readonly writes: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const begun = systemClock.now().getTime();
/** Beside the figures, which may go into a file. */
const say = (text: string): void => {
  const seconds = Math.round((systemClock.now().getTime() - begun) / 1000);
  process.stderr.write(`${String(seconds).padStart(5)} s  ${text}\n`);
};

say('starting a control plane and a cluster for each mode');
await using stage = await startStage();
say('accepted to Ready, one update at a time; the figures come at the end');
for (const member of stage.members) await bring(stage.admin, member, { action: 'install', name: APPLICATION });
const parts = [
  await measure(stage, 20, Number(options.rounds)),
  await measure(stage, DEFAULT_INTERVALS.event_batch_ms, Number(options['default-rounds'])),
];
if (options.json) process.stdout.write(`${JSON.stringify(parts, null, 2)}\n`);
else for (const part of parts) process.stdout.write(textOf(part));

/** The modes in turns, another first in each round. */
async function measure({ admin, members }: BenchStage, batchMs: number, rounds: number): Promise<Part> {
  for (const { id } of members) await admin.call('PATCH', `/clusters/${id}`, { intervals: { eventBatchMs: batchMs } });
  // Every operator has the new interval once it has asked for its settings, which it does at once.
  await systemClock.sleep(SETTLE_MS);
  for (let round = 0; round < WARM_UP; round += 1) {
    for (const member of members) await sampleOf(member, `${batchMs}-warm-${round}`);
  }
  await systemClock.sleep(SETTLE_MS);
  const before = new Map<Member, number>();
  for (const member of members) before.set(member, (await member.writes()).length);
  const samples: Sample[] = [];
  for (let round = 0; round < rounds; round += 1) {
    if (round % PROGRESS_EVERY === 0) say(`event batches of ${batchMs} ms: round ${round} of ${rounds}`);
    const first = round % members.length;
    for (const member of [...members.slice(first), ...members.slice(0, first)]) {
      samples.push(await sampleOf(member, `${batchMs}-${round}`));
    }
  }
  await systemClock.sleep(SETTLE_MS);
  const writes: Record<string, Record<string, number>> = {};
  for (const member of members) {
    const written = (await member.writes()).slice(before.get(member)).filter((write) => isOurs(write));
    writes[member.mode] = writesForEach(written, rounds);
  }
  return { batchMs, rows: rowsOf(samples), writes };
}

async function sampleOf(member: Member, message: string): Promise<Sample> {
  const before = (await member.writes()).length;
  const intent = await bring(stage.admin, member, { action: 'update', name: APPLICATION, values: { ui: { message } } });
  const accepted = Date.parse(intent.acceptedAt);
  return {
    mode: member.mode,
    readyMs: Date.parse(intent.readyAt ?? '') - accepted,
    deliveredMs: Date.parse(intent.deliveredAt ?? '') - accepted,
    releaseMs: releaseMs((await member.writes()).slice(before)),
  };
}

/** From the release as the operator wrote it to the first status of it that says Ready. */
function releaseMs(writes: readonly SeenWrite[]): number {
  const releases = writes.filter(({ resource }) => resource === 'helmreleases');
  const written = releases.find((write) => isOurs(write) && write.subresource === '');
  const ready = releases.find(({ ready, generation }) => ready && generation === written?.generation);
  if (written === undefined || ready === undefined) throw new Error('the release was not written, or is not Ready');
  return ready.at - written.at;
}

function writesForEach(writes: readonly SeenWrite[], intents: number): Record<string, number> {
  const counts: Record<string, number> = { all: writes.length / intents };
  for (const { resource, subresource } of writes) {
    const what = subresource === '' ? resource : `${resource}/${subresource}`;
    counts[what] = (counts[what] ?? 0) + 1 / intents;
  }
  return counts;
}

function textOf({ batchMs, rows, writes }: Part): string {
  const cells = (texts: readonly string[]): string => texts.map((text) => text.padStart(11)).join('');
  const ms = (value: number): string => `${value.toFixed(0)} ms`;
  const table = rows.map(({ mode, count, ready, all, delivered, release }) =>
    cells([
      mode,
      String(count),
      ms(ready.p50),
      ms(ready.p99),
      (ready.p99 / ready.p50).toFixed(1),
      ms(all.p50),
      ms(all.p99),
      ms(delivered.p50),
      ms(release.p50),
    ]),
  );
  const counted = Object.entries(writes).map(([mode, counts]) => {
    const each = Object.entries(counts).map(([what, count]) => `${what} ${count.toFixed(1)}`);
    return `  ${mode}: ${each.join(', ')}`;
  });
  return [
    `accepted to Ready with event batches of ${batchMs} ms; P50 and P99 without the release controller, then with it`,
    cells(['mode', 'intents', 'P50', 'P99', 'P99/P50', 'P50 all', 'P99 all', 'delivered', 'release']),
    ...table,
    'writes to the API server for an intent, by the operator and the control plane',
    ...counted,
    '',
    '',
  ].join('\n');
}
