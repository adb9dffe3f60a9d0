import type { JSX } from 'preact';

/** How a state is drawn. Each tone has a shape of its own: nothing is told by colour alone. */
export type Tone = 'good' | 'busy' | 'waiting' | 'warning' | 'bad' | 'idle';

const SHAPES: Readonly<Record<Tone, JSX.Element>> = {
  good: <circle cx="6" cy="6" r="4.5" fill="currentColor" />,
  busy: (
    <>
      <circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="M6 1.5a4.5 4.5 0 0 1 0 9z" fill="currentColor" />
    </>
  ),
  waiting: <circle cx="6" cy="6" r="3.8" fill="none" stroke="currentColor" stroke-width="1.6" />,
  warning: <path d="M6 1 11.2 10.5H.8z" fill="currentColor" />,
  bad: <path d="M6 .8 11.2 6 6 11.2.8 6z" fill="currentColor" />,
  idle: <path d="M2 6h8" stroke="currentColor" stroke-width="2" stroke-linecap="round" />,
};

const TONES: Readonly<Record<Tone, readonly string[]>> = {
  good: [
    'healthy',
    'ready',
    'merged',
    'approved',
    'succeeded',
    'active',
    'true',
    'trusted',
    'supported',
    'enabled',
    'done',
    'current',
  ],
  busy: [
    'progressing',
    'delivered',
    'applied',
    'committed',
    'merging',
    'running',
    'rendered',
    'acknowledged',
    'leased',
  ],
  waiting: [
    'pending',
    'accepted',
    'queued',
    'proposed',
    'open',
    'waiting',
    'awaiting-approval',
    'untried',
    'not reported',
  ],
  warning: ['degraded', 'missing', 'expiring', 'blocked', 'disabled', 'outdated', 'untrusted', 'upgradable', 'expired'],
  bad: [
    'failed',
    'unreachable',
    'rejected',
    'refused',
    'cancelled',
    'timedout',
    'false',
    'failing',
    'revoked',
    'error',
    'dead',
  ],
  idle: ['unknown', 'superseded', 'removed', 'none', 'skipped', 'unsigned'],
};
const TONE_OF = new Map(
  (Object.keys(TONES) as Tone[]).flatMap((tone) => TONES[tone].map((state): [string, Tone] => [state, tone])),
);

export function toneOf(state: string): Tone {
  return TONE_OF.get(state.toLowerCase()) ?? 'idle';
}

export function StateShape({ tone }: { readonly tone: Tone }): JSX.Element {
  return (
    <svg class="shape" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" focusable="false">
      {SHAPES[tone]}
    </svg>
  );
}

interface BadgeProps {
  readonly state: string;
  /** Where the state's own word is not what is meant: a condition `False` that is good news. */
  readonly tone?: Tone;
  readonly label?: string;
}

/** A state in a word and a shape. */
export function Badge({ state, tone = toneOf(state), label = state }: BadgeProps): JSX.Element {
  return (
    <span class={`badge tone-${tone} ${state.toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-')}`}>
      <StateShape tone={tone} />
      {label}
    </span>
  );
}
