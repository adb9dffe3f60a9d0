import type { JsonSchema } from '../schema-form/field.ts';
import type { Condition } from './conditions.ts';
import type { ApprovalCount } from './intents.ts';

export interface Operation {
  readonly id: string;
  readonly clusterId: string;
  readonly clusterSlug: string;
  readonly namespace: string;
  readonly name: string;
  readonly template: string;
  readonly phase: string;
  readonly targetRef?: { readonly kind: string; readonly namespace?: string; readonly name: string };
  readonly deadlineSeconds?: number;
  readonly conditions: readonly Condition[];
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly requestReason?: string;
  readonly intents: readonly OperationIntent[];
  /** Of one operation alone. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

export interface OperationIntent {
  readonly id: string;
  readonly generation: number;
  readonly state: string;
  readonly reason?: string;
  readonly cancel?: true;
  readonly requestedBy: string;
}

export function hasEnded({ phase }: Operation): boolean {
  return ['Succeeded', 'Failed', 'Cancelled'].includes(phase);
}

export interface OperationTemplate {
  readonly name: string;
  readonly description?: string;
  readonly isBuiltIn: boolean;
  readonly parameters: JsonSchema;
  readonly runs: string;
  readonly deadlineSeconds: number;
  readonly retries: number;
  readonly isCancellable: boolean;
  /** Kinds that it works on; empty: it takes no target. */
  readonly targets: readonly string[];
  readonly approval?: ApprovalCount;
}
