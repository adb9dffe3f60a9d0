import type { ConnectivityMode } from '../../../src/protocol/connectivity-mode.ts';
import type { Fleet } from './fleet.ts';
import { brokenPromises, unkeptPromises } from './judge-world.ts';
import type { ModeWorld } from './mode-world.ts';
import type { Act, Schedule } from './schedule.ts';

const PERSON = 'kubectl-edit';
/** From the last disturbance to the end of everything, in real time. */
const LIMIT_MS = 60_000;

export interface Played {
  readonly mode: ConnectivityMode;
  /** States that its switches ended in. */
  readonly ends: readonly string[];
}

/** Plays a schedule to its end, where nothing is open any more. @throws Error that says which promise was broken */
export async function playSchedule(world: ModeWorld, fleet: Fleet, schedule: Schedule): Promise<Played> {
  const play = new Play(world, fleet);
  for (const act of schedule.before) await play.act(act);
  for (const { at, act } of schedule.during) if (at === 0) await play.act(act);
  world.plane.writes.arm(schedule.planeKills);
  world.operator.writes.arm(schedule.operatorKills);
  await play.request(schedule.to);
  const later = schedule.during.filter(({ at }) => at > 0);
  const last = later.at(-1)?.at ?? 0;
  for (let moment = 1; moment <= last; moment += 1) {
    for (const { at, act } of later) if (at === moment) await play.act(act);
    await world.bringBack(!world.line.isUp && !world.operator.isDead);
    await world.pass();
  }
  let open: unknown = 'nothing was looked at';
  const rest = async (): Promise<Played | undefined> => {
    // One look at the database for the many calls that would find something open.
    const counts = world.database.open();
    open = counts;
    if (counts.switches + counts.intents > 0) return undefined;
    const view = await world.view();
    const intents = await fleet.open();
    open = [view['modeSwitch'], intents, view['status']];
    if (view['modeSwitch'] !== undefined || intents.length > 0) return undefined;
    const mode = view['connectivityMode'] as ConnectivityMode;
    const unkept = await unkeptPromises(world, fleet, mode);
    open = unkept;
    if (unkept.length > 0) return undefined;
    const ends = await Promise.all(play.switches.map(async (id) => String((await world.switchOf(id))['state'])));
    return { mode, ends };
  };
  const played = await world.until('rest', rest, { limitMs: LIMIT_MS }).catch(async (error: unknown) => {
    const switches = await Promise.all(play.switches.map(async (id) => await world.switchOf(id)));
    const intents = await fleet.open();
    throw new Error(`never at rest: ${JSON.stringify([open, intents])}\n${JSON.stringify(switches, null, 1)}`, {
      cause: error,
    });
  });
  world.plane.writes.arm([]);
  world.operator.writes.arm([]);
  await world.bringBack();
  const broken = brokenPromises(world, fleet);
  if (broken.length > 0) throw new Error(broken.join('\n'));
  return played;
}

class Play {
  readonly switches: string[] = [];
  readonly #world: ModeWorld;
  readonly #fleet: Fleet;
  #edited: string | undefined;

  constructor(world: ModeWorld, fleet: Fleet) {
    this.#world = world;
    this.#fleet = fleet;
  }

  async act(act: Act): Promise<void> {
    const world = this.#world;
    switch (act.kind) {
      case 'install':
        return await this.#fleet.install();
      case 'update':
        return await this.#fleet.update(act.pick);
      case 'uninstall':
        return await this.#fleet.uninstall(act.pick);
      case 'label-edit':
        return await this.#edit(act.pick, { metadata: { labels: { 'edited-by': 'a-person' } } });
      case 'spec-edit':
        this.#edited = this.#fleet.pick(act.pick);
        if (this.#edited !== undefined) this.#fleet.edited.add(this.#edited);
        return await this.#edit(act.pick, { spec: { values: { ui: { message: 'edited by hand' } } } });
      case 'heal':
        return await this.#heal();
      case 'offline':
        return world.line.down();
      case 'online':
        return world.line.up();
      case 'cancel': {
        const path = `/clusters/${world.clusterId}/mode-switches/${this.switches.at(-1)}/cancel`;
        expectOneOf('cancel', await world.call('POST', path), [200, 202, 409]);
        return;
      }
      case 'second':
        return await this.request(act.to);
      case 'refuse-push':
        this.#refusePush(act.times);
    }
  }

  /** 409 where one is under way already, or the cluster is in that mode. */
  async request(to: ConnectivityMode): Promise<void> {
    const answer = await this.#world.requestMode(to);
    expectOneOf(`switch to ${to}`, answer, [202, 409, 422]);
    if (answer.status !== 202) return;
    const id = String(answer.body['switch'].id);
    if (!this.switches.includes(id)) this.switches.push(id);
  }

  async #edit(pick: number, patch: Record<string, unknown>): Promise<void> {
    const name = this.#fleet.pick(pick);
    const { api } = this.#world.cluster.cluster;
    if (name === undefined || (await api.get(this.#world.ref(name))) === undefined) return;
    await api.mergePatch(this.#world.ref(name), patch, { fieldManager: PERSON });
  }

  /** The person gives the fields up again. */
  async #heal(): Promise<void> {
    const { api } = this.#world.cluster.cluster;
    const object = this.#edited === undefined ? undefined : await api.get(this.#world.ref(this.#edited));
    if (object === undefined) return;
    const entries = object.metadata.managedFields ?? [];
    const left = entries.filter(({ manager }) => manager !== PERSON);
    const test = { op: 'test', path: '/metadata/resourceVersion', value: object.metadata.resourceVersion } as const;
    const replace = { op: 'replace', path: '/metadata/managedFields', value: left } as const;
    // Lost to another write: tried once more.
    await api.jsonPatch(this.#world.ref(object.metadata.name), [test, replace]).catch(async () => await this.#heal());
  }

  #refusePush(times: number): void {
    this.#world.cluster.cluster.sandbox.faults.add({
      times,
      match: ({ method, userAgent }) => method !== 'GET' && userAgent?.startsWith('service-control-plane') === true,
      respond: { status: 503, body: 'the server is overloaded' },
    });
  }
}

function expectOneOf(
  what: string,
  answer: { readonly status: number; readonly body: unknown },
  taken: readonly number[],
) {
  if (taken.includes(answer.status)) return;
  throw new Error(`${what} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`);
}
