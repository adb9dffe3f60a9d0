import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideSwitch, type DecidedSwitch, type SwitchFacts } from '../../../src/control-plane/modes/decide-switch.ts';
import type { TargetProbes } from '../../../src/control-plane/modes/probe-target.ts';
import type { ConnectivityMode } from '../../../src/protocol/connectivity-mode.ts';
import { BEFORE, LATER, LIMITS, NOTHING, NOW, READY, REFUSED, switchFacts, switchRow } from './switch-facts.ts';

/** What may happen around a switch. */
type Happening =
  | { readonly kind: 'look' }
  | { readonly kind: 'probes'; readonly found: TargetProbes }
  | { readonly kind: 'report'; readonly back: number }
  | { readonly kind: 'work'; readonly count: number }
  | { readonly kind: 'objects'; readonly to: 'delivered' | 'confirmed' | 'refused' | 'pending' }
  | { readonly kind: 'contact'; readonly ms: number }
  | { readonly kind: 'silence'; readonly is: boolean }
  | { readonly kind: 'revision'; readonly isApplied: boolean }
  | { readonly kind: 'raise' }
  | { readonly kind: 'cancel' };

const happenings = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Happening>({ kind: 'look' }) },
  { weight: 3, arbitrary: fc.constantFrom(READY, READY, LATER).map((found): Happening => ({ kind: 'probes', found })) },
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 3 }).map((back): Happening => ({ kind: 'report', back })) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 2 }).map((count): Happening => ({ kind: 'work', count })) },
  {
    weight: 8,
    arbitrary: fc
      .constantFrom('delivered', 'delivered', 'confirmed', 'confirmed', 'pending', 'refused')
      .map((to): Happening => ({ kind: 'objects', to: to as 'delivered' })),
  },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 700_000 }).map((ms): Happening => ({ kind: 'contact', ms })) },
  { weight: 1, arbitrary: fc.boolean().map((is): Happening => ({ kind: 'silence', is })) },
  { weight: 1, arbitrary: fc.boolean().map((isApplied): Happening => ({ kind: 'revision', isApplied })) },
  { weight: 1, arbitrary: fc.constantFrom<Happening>({ kind: 'raise' }, { kind: 'cancel' }) },
  { weight: 1, arbitrary: fc.constant<Happening>({ kind: 'probes', found: REFUSED }) },
);

/** A cluster with its switch, as `carryOutMove` would change them, and which way may write at which epoch. */
class World {
  row: DecidedSwitch = switchRow({});
  mode: ConnectivityMode = 'pull';
  epoch = 1;
  isHeld = false;
  /** What the operator goes by: it has seen each configuration in turn, and may be behind. */
  reported = 1;
  readonly modeAt = new Map<number, ConnectivityMode>([[1, 'pull']]);
  /** Epochs under which something was, or could have been, delivered. */
  readonly released = new Set<number>([1]);
  facts: Partial<SwitchFacts> = {};
  handovers = { ...NOTHING };
  readonly epochs: number[] = [1];

  happen(what: Happening): void {
    switch (what.kind) {
      case 'probes':
        this.facts = { ...this.facts, probes: what.found };
        return;
      case 'report':
        this.reported = Math.max(this.reported, this.epoch - what.back);
        return;
      case 'work':
        this.facts = { ...this.facts, oldWork: what.count };
        return;
      case 'objects':
        // There are none under an epoch that somebody else has raised.
        if (!this.isHeld && this.epoch === this.row.epoch) this.handovers = { ...NOTHING, [what.to]: 3 };
        return;
      case 'contact':
        this.facts = { ...this.facts, contactMs: (this.facts.contactMs ?? 0) + what.ms };
        return;
      case 'silence':
        this.facts = { ...this.facts, silence: what.is ? 'silent' : undefined };
        return;
      case 'revision':
        this.facts = { ...this.facts, isRevisionApplied: what.isApplied };
        return;
      case 'raise':
        this.#raise(this.mode);
        this.handovers = { ...NOTHING };
        if (!this.isHeld) this.released.add(this.epoch);
        return;
      case 'cancel':
        if (this.row.state !== 'rolling-back') this.row = { ...this.row, cancelled_by: 'anna' };
        return;
      case 'look':
        this.look();
    }
  }

  look(): string {
    const facts = switchFacts({
      ...this.facts,
      clusterEpoch: this.epoch,
      reportedEpoch: this.reported,
      handovers: this.handovers,
    });
    const move = decideSwitch(this.row, facts, NOW, LIMITS);
    if (move.kind === 'over' || move.kind === 'wait') return move.kind;
    this.facts = { ...this.facts, contactMs: 0 };
    switch (move.kind) {
      case 'probe':
        this.row = { ...this.row, state: 'probing', phase: 'probing' };
        break;
      case 'fence':
        this.#fence('push', { state: 'fencing', phase: 'fencing' });
        break;
      case 'hand-over': {
        const isBack = this.row.state === 'rolling-back';
        this.isHeld = false;
        this.released.add(this.epoch);
        const before = { ...BEFORE, ...this.row.before, ...(isBack ? {} : { delivered: true }) };
        this.row = { ...this.row, phase: 'handing-over', before, state: isBack ? 'rolling-back' : 'handing-over' };
        break;
      }
      case 'confirm':
        this.row = { ...this.row, state: 'confirming', phase: 'confirming' };
        break;
      case 'activate':
        expect(this.handovers).toEqual({ ...NOTHING, confirmed: 3 });
        expect(facts.isRevisionApplied).toBe(true);
        this.row = { ...this.row, state: 'active', phase: 'over' };
        break;
      case 'fence-back':
        this.#fence('pull', { state: 'rolling-back', phase: 'fencing' });
        break;
      case 'go-on-back':
        throw new Error('no earlier switch went back here');
      case 'roll-back':
        this.row = { ...this.row, state: 'rolled-back', phase: 'over' };
    }
    this.#oneWriter();
    return move.kind;
  }

  #fence(mode: ConnectivityMode, to: Pick<DecidedSwitch, 'state' | 'phase'>): void {
    this.#raise(mode);
    this.isHeld = true;
    this.handovers = { ...NOTHING, pending: 3 };
    this.row = { ...this.row, ...to, epoch: this.epoch, before: { ...BEFORE, ...this.row.before } };
  }

  #raise(mode: ConnectivityMode): void {
    this.epoch += 1;
    this.mode = mode;
    this.epochs.push(this.epoch);
    this.modeAt.set(this.epoch, mode);
  }

  /** What is delivered now goes by another way than what the operator may still be writing: never. */
  #oneWriter(): void {
    if (this.isHeld) return;
    const ways = [...this.released].filter((epoch) => epoch >= this.reported).map((epoch) => this.modeAt.get(epoch));
    expect(new Set([...ways, this.mode]).size).toBe(1);
  }
}

/** Everybody does what is theirs from now on. */
function settle(world: World): void {
  for (let looks = 0; looks < 30; looks += 1) {
    if (world.look() === 'over') return;
    world.happen({ kind: 'silence', is: false });
    if (world.facts.probes?.state !== 'refused') world.happen({ kind: 'probes', found: READY });
    world.happen({ kind: 'report', back: 0 });
    world.happen({ kind: 'work', count: 0 });
    world.happen({ kind: 'revision', isApplied: true });
    if (world.handovers.refused === 0) world.happen({ kind: 'objects', to: 'confirmed' });
  }
}

describe('a switch, whatever happens in whatever order', () => {
  it('has one writer at any time, only ever raises the epoch, and comes to an end in the one mode or the other', () => {
    const ends = { active: 0, 'rolled-back': 0 };
    fc.assert(
      fc.property(fc.array(happenings, { maxLength: 120, size: 'max' }), (all) => {
        const world = new World();
        for (const what of all) world.happen(what);
        settle(world);
        const { state } = world.row;
        if (state !== 'active' && state !== 'rolled-back') throw new Error(`it stays ${state}`);
        ends[state] += 1;
        expect(world.mode).toBe(state === 'active' ? 'push' : 'pull');
        expect(world.isHeld).toBe(false);
        expect(world.epochs).toEqual([...world.epochs].sort((a, b) => a - b));
        expect(new Set(world.epochs).size).toBe(world.epochs.length);
      }),
      { numRuns: 1500 },
    );
    // Both ends are tried.
    expect(Math.min(ends.active, ends['rolled-back'])).toBeGreaterThan(100);
  });

  it('ends by its limits where nobody but the operator does anything, and that only reports', () => {
    fc.assert(
      fc.property(fc.array(happenings, { maxLength: 80, size: 'max' }), (all) => {
        const world = new World();
        for (const what of all) world.happen(what);
        for (let looks = 0; looks < 30; looks += 1) {
          if (world.look() === 'over') return;
          world.happen({ kind: 'probes', found: LATER });
          world.happen({ kind: 'report', back: 0 });
          world.happen({ kind: 'contact', ms: 700_000 });
          // The old way can deliver.
          if (world.row.state === 'rolling-back') world.happen({ kind: 'objects', to: 'delivered' });
        }
        throw new Error(`it stays ${world.row.state}`);
      }),
      { numRuns: 1000 },
    );
  });
});
