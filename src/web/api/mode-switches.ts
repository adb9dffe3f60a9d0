export const MODES = ['pull', 'gitops', 'push'] as const;
export type Mode = (typeof MODES)[number];

export interface Probe {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
  readonly warning?: string;
}

export interface CredentialChange {
  readonly kind: string;
  readonly name: string;
  readonly change: 'created' | 'kept' | 'revoked' | 'withdrawn';
  readonly at?: string;
  readonly message: string;
}

interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}
export interface ObjectLeft extends ObjectName {
  readonly reason: string;
}

/** What a switch would do; nothing of it is done. */
export interface SwitchPlan {
  readonly from: Mode;
  readonly to: Mode;
  readonly plan: {
    readonly wouldStart: boolean;
    readonly blockers: readonly string[];
    readonly epoch: number;
    readonly objects: {
      readonly total: number;
      readonly items: readonly (ObjectName & { readonly action: string; readonly generation: number })[];
      readonly left: readonly ObjectLeft[];
    };
    readonly waitingIntents: number;
    readonly jobs: { readonly open: number; readonly acknowledged: number };
    readonly proposals: { readonly open: number; readonly ids: readonly string[] };
    readonly config: readonly { readonly field: string; readonly from: string; readonly to: string }[];
    readonly operator: string;
    readonly toDo: readonly string[];
  };
  readonly probes: readonly Probe[];
  readonly credentials: readonly CredentialChange[];
}

/** A switch that was asked for. */
export interface ModeSwitch {
  readonly id: string;
  readonly clusterSlug: string;
  readonly from: Mode;
  readonly to: Mode;
  readonly state: string;
  readonly phase: string;
  readonly phaseSince: string;
  readonly waitingFor?: string;
  readonly epoch?: number;
  readonly reason?: string;
  readonly steps: readonly { readonly state: string; readonly at: string; readonly message: string }[];
  readonly probes: readonly Probe[];
  readonly credentials: readonly CredentialChange[];
  readonly objects: {
    readonly total: number;
    readonly delivered: number;
    readonly confirmed: number;
    readonly refused: readonly ObjectLeft[];
    readonly left: readonly ObjectLeft[];
  };
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly finishedAt?: string;
}

/** In their order; a switch that goes back takes the way of the last two. */
const FORTH = ['requested', 'probing', 'fencing', 'handing-over', 'confirming', 'active'] as const;

export interface Phase {
  readonly name: string;
  readonly look: 'done' | 'current' | 'pending' | 'failed';
  readonly at?: string;
  readonly message?: string;
}

/** Each phase that a switch came to, with its words, then those that are still to come. */
export function phasesOf({ state, steps, waitingFor, finishedAt }: ModeSwitch): readonly Phase[] {
  const isBack = state === 'rolling-back' || state === 'rolled-back';
  const been = steps.map((step, index): Phase => {
    const isLast = index === steps.length - 1;
    const look = isLast && finishedAt === undefined ? 'current' : isBack && isLast ? 'failed' : 'done';
    const waits = look === 'current' && waitingFor !== undefined ? `; waiting for ${waitingFor}` : '';
    return { name: step.state, look, at: step.at, message: `${step.message}${waits}` };
  });
  if (finishedAt !== undefined) return been;
  const names = new Set(steps.map((step) => step.state));
  const next = isBack ? ['rolled-back'] : FORTH.filter((name) => !names.has(name));
  return [...been, ...next.map((name): Phase => ({ name, look: 'pending' }))];
}
