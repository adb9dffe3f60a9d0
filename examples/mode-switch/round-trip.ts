import type { AdminClient } from '../../src/cli/admin-client.ts';
import { CliError } from '../../src/cli/cli-error.ts';
import type { ConnectivityMode } from '../../src/protocol/connectivity-mode.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import type { Progress } from '../first-app/progress.ts';
import { makePushKubeconfig } from './push-kubeconfig.ts';
import type { Stage } from '../first-app/stage.ts';
import { durations, switchMode, type CredentialEnd, type ShownSwitch } from './switch-mode.ts';
import { WriteCounter } from './write-counter.ts';

const ROUND: readonly ConnectivityMode[] = ['push', 'gitops', 'pull'];
const APPLICATIONS = 50;
/** In flight when a switch begins. */
const UPDATED = 5;
const LOOK_MS = 100;
const LIMIT_MS = 3 * 60_000;
const OVER: readonly string[] = ['ready', 'removed', 'superseded', 'failed'];

/** What one switch did. */
export interface ToldSwitch {
  readonly from: string;
  readonly to: string;
  readonly state: string;
  readonly reason?: string;
  readonly uidsKept: number;
  readonly uidsBefore: number;
  /** The application whose delete was pending. */
  readonly toGo: string;
  readonly deleted: readonly string[];
  /** Of each application that stayed: fewest and most. */
  readonly writesPerObject: readonly [number, number];
  readonly writes: number;
  readonly durationMs: number;
  readonly phases: readonly { readonly state: string; readonly ms: number }[];
  readonly intents: Readonly<Record<string, number>>;
  readonly credentials: readonly CredentialEnd[];
  readonly ok: boolean;
}

export interface Told {
  readonly ok: boolean;
  readonly applications: number;
  readonly switches: readonly ToldSwitch[];
}

/** A cluster with many applications goes round the three modes. */
export class RoundTrip {
  readonly #stage: Stage;
  readonly #admin: AdminClient;
  readonly #progress: Progress;

  constructor(deps: { readonly stage: Stage; readonly progress: Progress }) {
    this.#stage = deps.stage;
    this.#admin = deps.stage.admin;
    this.#progress = deps.progress;
  }

  async run(): Promise<Told> {
    const { api, kubeconfig } = this.#stage;
    await using counter = WriteCounter.start(api);
    const from = performance.now();
    const installs = Array.from({ length: APPLICATIONS }, (_, index) => nameOf(index));
    await this.#untilOver(
      await this.#accept(
        installs.map((name) => ({ action: 'install', name, catalogEntry: 'podinfo', chartVersion: '6.5.0' })),
      ),
    );
    const seconds = inSeconds(performance.now() - from);
    this.#progress.note(`applications   ${APPLICATIONS} installed and ready in ${seconds}, in pull mode`);
    const push = { kubeconfig: await makePushKubeconfig(api, kubeconfig) };
    const switches: ToldSwitch[] = [];
    let mode: ConnectivityMode = 'pull';
    for (const [step, to] of ROUND.entries()) {
      const told = await this.#switch(counter, step, mode, to, to === 'push' ? { push } : {});
      switches.push(told);
      for (const line of linesOf(told)) this.#progress.note(line);
      if (!told.ok) break;
      mode = to;
    }
    const ok = switches.length === ROUND.length && switches.every((one) => one.ok);
    return { ok, applications: APPLICATIONS, switches };
  }

  /** One switch, begun with jobs in flight and a delete pending. */
  async #switch(
    counter: WriteCounter,
    step: number,
    from: ConnectivityMode,
    to: ConnectivityMode,
    more: Readonly<Record<string, unknown>>,
  ): Promise<ToldSwitch> {
    const before = counter.uids();
    counter.takeWrites();
    counter.takeDeleted();
    const toGo = nameOf(step);
    const changed = Array.from({ length: UPDATED }, (_, index) => nameOf(10 * (step + 1) + index));
    const intents = await this.#accept([
      ...changed.map((name) => ({ action: 'update', name, values: { ui: { message: `for ${to} mode` } } })),
      { action: 'uninstall', name: toGo },
    ]);
    const end = await switchMode(this.#admin, this.#stage.clusterId, to, more);
    const states = await this.#untilOver(intents);
    await this.#until(`${toGo} to be gone`, () => !counter.uids().has(toGo));
    return judge({ from, to, toGo, before, end, states, counter });
  }

  async #accept(requests: readonly Readonly<Record<string, unknown>>[]): Promise<readonly string[]> {
    const ids: string[] = [];
    for (const request of requests) {
      const path = `/clusters/${this.#stage.clusterId}/intents`;
      const { id } = await this.#patiently(
        async () => await this.#admin.call<{ id: string }>('POST', path, { namespace: 'shop', ...request }),
      );
      ids.push(id);
    }
    return ids;
  }

  /** Many requests in a row meet the limit of an admin token's rate, which says when to go on. */
  async #patiently<T>(call: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof CliError) || attempt > 20 || !error.message.includes('rate')) throw error;
        await systemClock.sleep(LOOK_MS * attempt);
      }
    }
  }

  /** Answers how many intents ended in which state. */
  async #untilOver(ids: readonly string[]): Promise<Readonly<Record<string, number>>> {
    const states: Record<string, number> = {};
    for (const id of ids) {
      let state = '';
      await this.#until(`intent ${id} to be over`, async () => {
        ({ state } = await this.#patiently(
          async () => await this.#admin.call<{ state: string }>('GET', `/intents/${id}`),
        ));
        return OVER.includes(state);
      });
      states[state] = (states[state] ?? 0) + 1;
    }
    return states;
  }

  async #until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + LIMIT_MS;
    while (!(await look())) {
      if (performance.now() > deadline) throw new Error(`${what}: not within ${inSeconds(LIMIT_MS)}`);
      await systemClock.sleep(LOOK_MS);
    }
  }
}

function judge(of: {
  readonly from: string;
  readonly to: string;
  readonly toGo: string;
  readonly before: ReadonlyMap<string, string>;
  readonly end: ShownSwitch;
  readonly states: Readonly<Record<string, number>>;
  readonly counter: WriteCounter;
}): ToldSwitch {
  const { from, to, toGo, before, end, states, counter } = of;
  const after = counter.uids();
  const stay = [...before].filter(([name]) => name !== toGo);
  const uidsKept = stay.filter(([name, uid]) => after.get(name) === uid).length;
  const deleted = counter.takeDeleted();
  const writes = counter.takeWrites();
  const each = stay.map(([name]) => writes.get(name) ?? 0);
  const ok =
    end.state === 'active' &&
    uidsKept === stay.length &&
    after.size === stay.length &&
    deleted.length === 1 &&
    deleted[0] === toGo &&
    states['failed'] === undefined &&
    (from === 'pull' || end.credentials.some(({ change, at }) => change === 'revoked' && at !== undefined));
  const { finishedAt = end.requestedAt } = end;
  return {
    from,
    to,
    state: end.state,
    ...(end.reason === undefined ? {} : { reason: end.reason }),
    uidsKept,
    uidsBefore: stay.length,
    toGo,
    deleted,
    writesPerObject: [Math.min(...each), Math.max(...each)],
    writes: each.reduce((sum, count) => sum + count, 0),
    durationMs: Date.parse(finishedAt) - Date.parse(end.requestedAt),
    phases: durations(end),
    intents: states,
    credentials: end.credentials,
    ok,
  };
}

function linesOf(told: ToldSwitch): readonly string[] {
  const [least, most] = told.writesPerObject;
  const perObject = least === most ? `${least} for each object` : `${least} to ${most} for each object`;
  const intents = Object.entries(told.intents).map(([state, count]) => `${count} ${state}`);
  return [
    '',
    `${told.from} → ${told.to}  ${told.state} after ${inSeconds(told.durationMs)}${told.reason === undefined ? '' : `: ${told.reason}`}`,
    `  UIDs kept    ${told.uidsKept} of ${told.uidsBefore}`,
    `  deletes      ${told.deleted.length}, of the 1 that was pending (${told.toGo})`,
    `  writes       ${told.writes}, ${perObject}${isOtherWriter(told) ? ': one moves its ownership, one applies it' : ''}`,
    `  in flight    ${UPDATED} updates and 1 uninstall, now ${intents.join(', ')}`,
    `  phases       ${told.phases.map(({ state, ms }) => `${state} ${inSeconds(ms)}`).join(' · ')}`,
    ...told.credentials.map(
      ({ kind, name, change, message }) => `  credential   ${kind} ${name}: ${change}; ${message}`,
    ),
    `  ${told.ok ? 'ok' : 'NOT AS EXPECTED'}`,
  ];
}

/** In push mode the control plane writes, in the others the operator does. */
function isOtherWriter({ from, to }: ToldSwitch): boolean {
  return (from === 'push') !== (to === 'push');
}

function nameOf(index: number): string {
  return `app-${String(index + 1).padStart(2, '0')}`;
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
