import type { GeneratedAlways } from 'kysely';
import type { IntentState } from './schema.ts';

export const APPLICATION_HEALTHS = ['healthy', 'progressing', 'degraded'] as const;
export type ApplicationHealth = (typeof APPLICATION_HEALTHS)[number];

/** `reached`: it has registered, is neither disabled nor revoked, and was heard of since it was last silent. */
export type ClusterReach = 'unknown' | 'unreachable' | 'reached';

/** An application of a cluster. Kept by the database itself whenever an intent moves (`migrations/application-rows.ts`). */
export interface ApplicationRow {
  organization_id: string;
  cluster_id: string;
  namespace: string;
  name: string;
  /** The newest intent that was not superseded. */
  intent_id: string;
  generation: number;
  action: 'install' | 'update' | 'uninstall';
  /** Of the newest intent that named one. */
  catalog_entry: string | null;
  version: string | null;
  state: IntentState;
  /** 1: something of the intent came to the cluster. */
  reached: number;
  /** What the cluster last reported of it; null: nothing, or that it is gone. */
  observed: 'ready' | 'progressing' | 'failed' | null;
  /** Of the newest intent that became ready. */
  observed_version: string | null;
  /** Made by the database of the columns above; `gone`: there is none, or none came about. */
  health: GeneratedAlways<ApplicationHealth | 'gone'>;
}
