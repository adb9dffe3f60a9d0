export const INTENT_STATES = [
  'accepted',
  'proposed',
  'delivered',
  'applied',
  'ready',
  'failed',
  'superseded',
  'removed',
] as const;

export interface ApprovalCount {
  readonly count: number;
  readonly roles?: Readonly<Record<string, number>>;
}

/** An intent as the API shows it: nothing of its values. */
export interface Intent {
  readonly id: string;
  readonly clusterId: string;
  readonly clusterSlug?: string;
  readonly action: 'install' | 'update' | 'uninstall' | 'operate';
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly state: string;
  readonly reason?: string;
  readonly proposal?: { readonly id: string; readonly state: string; readonly url?: string };
  readonly approval?: {
    readonly id: string;
    readonly state: string;
    readonly given: readonly string[];
    readonly missing: ApprovalCount;
  };
  readonly receipt?: {
    readonly mode: string;
    readonly commit?: string;
    readonly link?: string;
    readonly jobId?: string;
    readonly fieldManager?: string;
  };
  readonly requestedBy: string;
  readonly requestReason?: string;
  readonly acceptedAt: string;
  readonly deliveredAt?: string;
  readonly appliedAt?: string;
  readonly readyAt?: string;
}

/** Body of `POST /clusters/{id}/intents`. */
export interface IntentBody {
  readonly action: Intent['action'];
  readonly namespace: string;
  readonly name: string;
  readonly [more: string]: unknown;
}

export interface Violation {
  readonly path: string;
  readonly message: string;
  readonly at: 'api' | 'cluster';
  readonly reason?: string;
}

/** What would become of an intent. */
export interface DryRun {
  readonly dryRun: true;
  readonly violations: readonly Violation[];
  readonly warnings?: readonly { readonly path: string; readonly message: string }[];
  readonly approval?: {
    readonly required: ApprovalCount;
    readonly via: 'approval' | 'proposal';
  };
  readonly manifest?: string;
  /** Unified: the manifest that stands against the one that would be. */
  readonly diff?: string;
}

/** An intent that still goes on by itself. */
export function isUnderWay({ state }: Intent): boolean {
  return !['ready', 'failed', 'superseded', 'removed'].includes(state);
}
