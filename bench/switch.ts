/**
 * A cluster that is moved from pull to push, to gitops and back to pull, with so many applications: how long each step of
 * each switch takes, what is written to the API server for an application, and whether every object stays the one it was.
 * The control plane, the cluster, its release controller and its operator are processes of their own.
 *
 *   node bench/switch.ts [--applications 50,500] [--json]
 */
import { parseArgs } from 'node:util';
import { connectCluster } from '../src/kube/connect-cluster.ts';
import type { ConnectivityMode } from '../src/protocol/connectivity-mode.ts';
import { APPS_API_VERSION } from '../src/resources/labels.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { bring, isOurs, startStage, type BenchStage, type Member } from './modes/stage.ts';

const { values: options } = parseArgs({
  options: { applications: { type: 'string', default: '50,500' }, json: { type: 'boolean', default: false } },
});
const ROUND: readonly ConnectivityMode[] = ['push', 'gitops', 'pull'];
const AT_ONCE = 16;
const PATIENCE_MS = 600_000;
/** For what is written a while after a switch is over. */
const SETTLE_MS = 2000;

/** `GET /api/v1/clusters/{id}/mode-switches/{id}`, the part that is used. */
interface SwitchView {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly state: string;
  readonly reason?: string;
  readonly steps: readonly { readonly state: string; readonly at: string }[];
  readonly objects: { readonly total: number; readonly confirmed: number };
}

interface Switched {
  readonly applications: number;
  readonly from: string;
  readonly to: string;
  readonly steps: readonly { readonly state: string; readonly ms: number }[];
  readonly totalMs: number;
  readonly writesForEach: number;
  readonly writes: Readonly<Record<string, number>>;
  readonly deletes: number;
  readonly uidsKept: number;
}

const switched: Switched[] = [];
for (const count of options.applications.split(',')) switched.push(...(await goRound(Number(count))));
if (options.json) process.stdout.write(`${JSON.stringify(switched, null, 2)}\n`);

async function goRound(applications: number): Promise<Switched[]> {
  process.stderr.write(
    `${applications} applications: installing them, then three switches, each told when it is over\n`,
  );
  await using stage = await startStage(['pull']);
  const [member] = stage.members;
  if (member === undefined) throw new Error('no cluster was started');
  const names = Array.from({ length: applications }, (_, index) => `app-${String(index).padStart(4, '0')}`);
  await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, lane) => {
      for (const name of names.filter((_name, index) => index % AT_ONCE === lane)) {
        await bring(stage.admin, member, { action: 'install', name });
      }
    }),
  );
  const results: Switched[] = [];
  for (const to of ROUND) {
    const result = await switchTo(stage, member, to, applications);
    if (!options.json) process.stdout.write(`${textOf(result)}\n`);
    results.push(result);
  }
  return results;
}

async function switchTo(
  { admin }: BenchStage,
  member: Member,
  mode: ConnectivityMode,
  applications: number,
): Promise<Switched> {
  await systemClock.sleep(SETTLE_MS);
  const known = await uids(member);
  const before = (await member.writes()).length;
  const body = { mode, ...(mode === 'push' ? { push: { kubeconfig: member.kubeconfig } } : {}) };
  const asked = await admin.call<{ switch: SwitchView }>('POST', `/clusters/${member.id}/mode`, body);
  const over = await untilOver(admin, member, asked.switch.id);
  await systemClock.sleep(SETTLE_MS);
  const written = (await member.writes()).slice(before).filter((write) => isOurs(write));
  const now = await uids(member);
  const counts: Record<string, number> = {};
  for (const { method, resource, subresource } of written) {
    const what = `${method} ${subresource === '' ? resource : `${resource}/${subresource}`}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  const steps = over.steps.map(({ state, at }, index) => ({
    state,
    ms: Date.parse(over.steps[index + 1]?.at ?? at) - Date.parse(at),
  }));
  return {
    applications,
    from: over.from,
    to: over.to,
    steps: steps.slice(0, -1),
    totalMs: Date.parse(over.steps.at(-1)?.at ?? '') - Date.parse(over.steps[0]?.at ?? ''),
    writesForEach: written.filter(({ name }) => name.startsWith('app-')).length / applications,
    writes: counts,
    deletes: written.filter(({ method, name }) => method === 'DELETE' && name.startsWith('app-')).length,
    uidsKept: [...known].filter(([name, uid]) => now.get(name) === uid).length,
  };
}

async function untilOver(admin: BenchStage['admin'], { id }: Member, switchId: string): Promise<SwitchView> {
  for (const deadline = Date.now() + PATIENCE_MS; ;) {
    const path = `/clusters/${id}/mode-switches/${switchId}`;
    const answer = await admin.call<SwitchView | { switch: SwitchView }>('GET', path);
    const view = 'switch' in answer ? answer.switch : answer;
    if (view.state === 'active') return view;
    if (view.state === 'rolled-back' || Date.now() > deadline) throw new Error(JSON.stringify(view));
    await systemClock.sleep(50);
  }
}

async function uids({ kubeconfig }: Member): Promise<ReadonlyMap<string, string | undefined>> {
  const source = { kind: 'text', yaml: kubeconfig } as const;
  await using api = connectCluster({ kubeconfig: source, userAgent: 'bench', clock: systemClock, random: Math.random });
  const { items } = await api.list({ apiVersion: APPS_API_VERSION, kind: 'ApplicationInstance' });
  return new Map(items.map(({ metadata }) => [metadata.name, metadata.uid]));
}

function textOf({ applications, from, to, steps, totalMs, ...counted }: Switched): string {
  const { writesForEach, writes, deletes, uidsKept } = counted;
  return [
    `${applications} applications, ${from} → ${to}: ${(totalMs / 1000).toFixed(1)} s`,
    `  ${steps.map(({ state, ms }) => `${state} ${(ms / 1000).toFixed(2)} s`).join(', ')}`,
    `  ${uidsKept} UIDs kept, ${deletes} deletes, ${writesForEach.toFixed(2)} writes for each application`,
    `  in all: ${Object.entries(writes)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ')}`,
  ].join('\n');
}
