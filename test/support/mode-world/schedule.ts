import type { ConnectivityMode } from '../../../src/protocol/connectivity-mode.ts';
import type { Kill } from './kill-points.ts';
import { RandomNumbers } from './random-numbers.ts';

/** What happens to a system beside the switch itself. `pick` chooses which of the applications it is about. */
export type Act =
  | { readonly kind: 'install' }
  | { readonly kind: 'update' | 'uninstall' | 'label-edit' | 'spec-edit'; readonly pick: number }
  | { readonly kind: 'heal' }
  | { readonly kind: 'offline' | 'online' }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'second'; readonly to: ConnectivityMode }
  /** The API server answers so many of the control plane's writes with 503. */
  | { readonly kind: 'refuse-push'; readonly times: number };

/** One switch, and all that happens to it. */
export interface Schedule {
  readonly seed: number;
  readonly to: ConnectivityMode;
  /** Accepted right before: in flight, or pending, when the switch begins. */
  readonly before: readonly Act[];
  /** By moments after the request. */
  readonly during: readonly { readonly at: number; readonly act: Act }[];
  readonly planeKills: readonly Kill[];
  readonly operatorKills: readonly Kill[];
}

/** How long a switch may be disturbed, in moments: then everything is up, and it has to come to its end. */
const DISTURBED = 30;
const OTHERS: Readonly<Record<ConnectivityMode, readonly [ConnectivityMode, ConnectivityMode]>> = {
  pull: ['push', 'gitops'],
  push: ['gitops', 'pull'],
  gitops: ['pull', 'push'],
};

const MOMENTS = ['before', 'after'] as const;
const INTENTS = ['install', 'update', 'update', 'uninstall'] as const;

/** What becomes of a cluster in this mode by this seed. */
export function drawSchedule(seed: number, from: ConnectivityMode): Schedule {
  const random = new RandomNumbers(seed);
  const to = random.oneOf(OTHERS[from]);
  const before: Act[] = Array.from({ length: random.within(0, 2) }, () => drawIntent(random));
  const during: { at: number; act: Act }[] = [];
  const at = (): number => random.within(1, DISTURBED);
  for (let more = random.within(0, 2); more > 0; more -= 1) during.push({ at: at(), act: drawIntent(random) });
  if (random.chance(0.25)) {
    const from = random.chance(0.4) ? 0 : at();
    during.push({ at: from, act: { kind: 'offline' } }, { at: from + random.within(2, 20), act: { kind: 'online' } });
  }
  if (random.chance(0.2)) during.push({ at: at(), act: { kind: 'cancel' } });
  if (random.chance(0.2))
    during.push({ at: at(), act: { kind: 'second', to: random.oneOf(['pull', 'push', 'gitops']) } });
  if (random.chance(0.15)) during.push({ at: at(), act: { kind: 'label-edit', pick: random.next() } });
  if (random.chance(0.15)) {
    during.push({ at: random.within(0, 5), act: { kind: 'spec-edit', pick: random.next() } });
    during.push({ at: DISTURBED + 1, act: { kind: 'heal' } });
  }
  if (random.chance(0.2))
    during.push({ at: random.within(0, 5), act: { kind: 'refuse-push', times: random.within(1, 6) } });
  return {
    seed,
    to,
    before,
    during: during.toSorted((a, b) => a.at - b.at),
    planeKills: drawKills(random, 60),
    operatorKills: drawKills(random, 30),
  };
}

function drawIntent(random: RandomNumbers): Act {
  const kind = random.oneOf(INTENTS);
  return kind === 'install' ? { kind } : { kind, pick: random.next() };
}

/** Sometimes none; the more often the earlier, as that is where switches are decided. */
function drawKills(random: RandomNumbers, most: number): readonly Kill[] {
  const count = random.oneOf([0, 1, 1, 2]);
  return Array.from({ length: count }, () => ({
    at: 1 + Math.floor(random.next() ** 2 * most),
    moment: random.oneOf(MOMENTS),
  }));
}
