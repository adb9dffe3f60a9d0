import type { Condition } from './conditions.ts';

export const APPLICATION_HEALTHS = ['healthy', 'progressing', 'degraded'] as const;

/** An application as it should be and as it is, `GET /applications`. */
export interface Application {
  readonly clusterId: string;
  readonly clusterSlug: string;
  readonly namespace: string;
  readonly name: string;
  readonly catalogEntry?: string;
  readonly version?: string;
  readonly state: string;
  readonly health: string;
  readonly intentId: string;
  readonly generation: number;
  readonly action: string;
  readonly reason?: string;
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly observedVersion?: string;
  readonly newestAllowed?: string;
  readonly isUpgradeAvailable?: boolean;
  /** Of one application alone. */
  readonly conditions?: readonly Condition[];
}
