import type { ModeWorld } from './mode-world.ts';

/** More than this are not installed, fewer are not left. */
const MOST = 4;
const FEWEST = 2;

export interface AcceptedIntent {
  readonly id: string;
  readonly name: string;
  readonly action: 'install' | 'update' | 'uninstall';
}

/** What was asked for in a world: which applications there are to be, and by which intents. */
export class Fleet {
  readonly #world: ModeWorld;
  readonly intents: AcceptedIntent[] = [];
  /** Names that are to be there, and those that were to go. */
  readonly wanted = new Set<string>();
  readonly uninstalled = new Set<string>();
  /** Names somebody edited the payload of. */
  readonly edited = new Set<string>();
  #counter = 0;

  constructor(world: ModeWorld) {
    this.#world = world;
  }

  async install(): Promise<void> {
    if (this.wanted.size >= MOST) return;
    const name = `app-${++this.#counter}`;
    await this.#accept({ action: 'install', namespace: 'shop', name, catalogEntry: 'podinfo', chartVersion: '6.5.0' });
    this.wanted.add(name);
  }

  async update(pick: number): Promise<void> {
    const name = this.pick(pick);
    if (name === undefined) return;
    const values = { ui: { message: `change ${++this.#counter}` } };
    await this.#accept({ action: 'update', namespace: 'shop', name, values });
  }

  async uninstall(pick: number): Promise<void> {
    const name = this.pick(pick);
    if (name === undefined || this.wanted.size <= FEWEST) return;
    await this.#accept({ action: 'uninstall', namespace: 'shop', name });
    this.wanted.delete(name);
    this.uninstalled.add(name);
  }

  pick(pick: number): string | undefined {
    return [...this.wanted].at(Math.floor(pick * this.wanted.size));
  }

  /** Intents that are not over yet, with what they are. */
  async open(): Promise<string[]> {
    const open: string[] = [];
    for (const { id, name, action } of this.intents) {
      if (this.#over.has(id)) continue;
      const { body } = await this.#world.call('GET', `/intents/${id}`);
      const state = String(body['state']);
      const reason = String(body['reason'] ?? '');
      // What failed for another cause goes on, and gets there.
      const isConflict = state === 'failed' && reason.includes('ApplyConflict');
      if (['ready', 'removed', 'superseded'].includes(state) || isConflict) this.#over.set(id, { state, reason });
      else open.push(`${action} of ${name}: ${state} ${reason}`);
    }
    return open;
  }

  /** What became of those that are over. */
  outcomeOf(id: string): { readonly state: string; readonly reason: string } | undefined {
    return this.#over.get(id);
  }

  readonly #over = new Map<string, { readonly state: string; readonly reason: string }>();

  async #accept(
    intent: { readonly action: AcceptedIntent['action']; readonly name: string } & Record<string, unknown>,
  ) {
    const answer = await this.#world.accept(intent, `intent-${this.intents.length}`);
    if (answer.status !== 202) throw new Error(`${intent.action} of ${intent.name}: ${JSON.stringify(answer.body)}`);
    this.intents.push({ id: String(answer.body['id']), name: intent.name, action: intent.action });
  }
}
