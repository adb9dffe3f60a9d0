import type { JsonSchema } from '../schema-form/field.ts';
import type { ApprovalCount } from './intents.ts';

export interface CatalogEntry {
  readonly name: string;
  readonly chart: { readonly type: string; readonly url: string; readonly name: string };
  readonly versions: string;
  readonly defaultValues?: Readonly<Record<string, unknown>>;
  readonly valuesSchema?: JsonSchema;
  readonly approval?: ApprovalCount;
  readonly deprecation?: { readonly message: string; readonly replacement?: string };
  readonly credentials?: unknown;
  readonly updatedAt: string;
}

export interface ChartVersions {
  readonly range: string;
  readonly versions: readonly { readonly version: string; readonly isAllowed: boolean; readonly createdAt?: string }[];
  readonly fetchedAt?: string;
  readonly fault?: string;
}

export interface InstanceUpgrade {
  readonly cluster: { readonly id: string; readonly slug: string };
  readonly namespace: string;
  readonly name: string;
  readonly version?: string;
  readonly newestAllowed?: string;
  readonly isUpgradeAvailable: boolean;
}
