import type { Condition } from './conditions.ts';

export const CLUSTER_HEALTHS = ['healthy', 'progressing', 'degraded', 'unreachable', 'unknown'] as const;
export type ClusterHealth = (typeof CLUSTER_HEALTHS)[number];
export const MODES = ['gitops', 'pull', 'push'] as const;
export type Mode = (typeof MODES)[number];

/** What of a cluster is told beside its settings. */
export interface ClusterStanding {
  readonly labels: Readonly<Record<string, string>>;
  readonly health: ClusterHealth;
  /** Absent: nothing waits. `text` is the end of "it …". */
  readonly waitingFor?: {
    readonly count: number;
    readonly text: string;
    readonly intentId?: string;
    readonly since: string;
  };
  readonly applications: {
    readonly total: number;
    readonly ready: number;
    readonly failed: number;
    readonly progressing: number;
  };
}

/** `GET /clusters?fields=summary`. */
export interface ClusterSummary extends ClusterStanding {
  readonly id: string;
  readonly slug: string;
  readonly displayName: string;
  readonly mode: Mode;
  readonly status: 'Pending' | 'Active';
  readonly disabledAt?: string;
  readonly lastContactAt?: string;
  readonly operatorVersion?: string;
}

/** `GET /clusters/{id}`. */
export interface Cluster extends Partial<ClusterStanding> {
  readonly id: string;
  readonly slug: string;
  readonly displayName: string;
  readonly status: 'Pending' | 'Active';
  readonly disabledAt?: string;
  readonly connectivityMode: Mode;
  readonly allowedNamespaces: readonly string[];
  readonly allowedCatalogEntries: readonly string[];
  readonly allowedOperationTemplates: readonly string[];
  readonly approvalNamespaces: readonly string[];
  readonly requireClientCertificate: boolean;
  readonly git?: {
    readonly repository: string;
    readonly url: string;
    readonly branch: string;
    readonly path: string;
    readonly review?: string;
  };
  readonly clusterUid?: string;
  readonly conditions: readonly Condition[];
  readonly lastContactAt?: string;
  readonly credential?: { readonly expiresAt: string; readonly rotateAfter: string; readonly certified: boolean };
  readonly desiredRevision?: string;
  readonly appliedRevision?: string;
  readonly operatorVersion?: string;
  readonly desiredOperatorVersion?: string;
  readonly operatorSupport?: string;
  readonly push?: {
    readonly state: string;
    readonly server?: string;
    readonly user?: string;
    readonly setAt?: string;
    readonly setBy?: string;
    readonly expiresAt?: string;
    readonly renewable?: boolean;
    readonly renewAt?: string;
    readonly renewalFault?: string;
  };
  readonly modeSwitch?: { readonly id: string; readonly state: string; readonly to: Mode };
  readonly createdAt: string;
  readonly registeredAt?: string;
}

/** What was reported of one resource of a cluster. */
export interface ReportedResource {
  readonly resourceRef: { readonly kind: string; readonly namespace?: string; readonly name: string };
  readonly conditions: readonly Condition[];
  readonly updatedAt: string;
}

/** A report as it came. */
export interface ReportedEvent {
  readonly eventKey: string;
  readonly kind: string;
  readonly resourceRef: { readonly kind: string; readonly namespace?: string; readonly name: string };
  readonly conditions: readonly Condition[];
  readonly timestamp?: string;
  readonly receivedAt: string;
}
