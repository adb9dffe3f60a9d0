import type { ClusterHealth, Mode } from './clusters.ts';

/** `GET /fleet`. */
export interface Fleet {
  readonly clusters: {
    readonly total: number;
    readonly byHealth: Readonly<Record<ClusterHealth, number>>;
    readonly byMode: Readonly<Record<Mode, number>>;
    readonly byStatus: Readonly<Record<string, number>>;
  };
  readonly intents: { readonly waiting: number; readonly byState: Readonly<Record<string, number>> };
  readonly approvals: { readonly pending: number };
  readonly proposals: { readonly open: number };
  readonly groups?: readonly FleetGroup[];
  /** Smaller groups than those that are listed. */
  readonly groupsLeftOut?: number;
}

/** The clusters with one value of a label. */
export interface FleetGroup {
  /** Absent: clusters without the label. */
  readonly value?: string;
  readonly clusters: number;
  readonly byHealth: Readonly<Record<ClusterHealth, number>>;
}
