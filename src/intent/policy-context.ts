import type { ChartSource } from '../protocol/chart.ts';
import type { InstanceOptions } from '../resources/instance-options.ts';
import type { Fault } from '../protocol/app-error.ts';
import type { OperationTemplateDefinition } from '../protocol/operation-template.ts';
import type { IntentAction } from './intent-record.ts';

/** An entry of the organization's catalog, as far as the checks need it. */
export interface CatalogEntry {
  readonly chart: ChartSource;
  /** Allowed versions, a semver range. */
  readonly versions: string;
  readonly defaultValues?: Readonly<Record<string, unknown>>;
}

/** The newest intent that stands about the same kind, namespace and name on the cluster. */
export interface LastIntent {
  readonly action: IntentAction;
  /** `failed` and `removed` leave room for another try; see `actionDoesNotFitHistory`. */
  readonly state: string;
  /** When the cluster had its object; null: never, as far as is known. */
  readonly applied_at?: string | null;
}

/** What the checks judge an intent against: the cluster's record, the catalog, and what was asked for before. */
export interface PolicyContext {
  readonly allowedNamespaces: readonly string[];
  readonly allowedCatalogEntries: readonly string[];
  readonly allowedOperationTemplates: readonly string[];
  /** The organization's catalog entry of the name that the intent gives; undefined when there is none. */
  readonly catalogEntry?: CatalogEntry;
  readonly lastIntent?: LastIntent;
  /** What is known of the operation template that the intent names. */
  readonly templates?:
    | {
        /** What an admin wrote of it. */
        readonly definition: OperationTemplateDefinition | undefined;
        /** Names of all that there are. */
        readonly names: readonly string[];
        /** What it says of the intent's parameters and target; absent: there is no such template. */
        readonly faults?: readonly Fault[];
      }
    | undefined;
  /** Of the install or update that an update builds on: what cannot be changed later. */
  readonly lastOptions?: Pick<InstanceOptions, 'releaseName' | 'targetNamespace'>;
  /** From what the intent is about over what stands on the cluster back to it, by `namespace/name`, both ends included. */
  readonly circle?: readonly string[];
  /** Id of a proposal about the object that waits for approval; it is no history yet. */
  readonly undecidedProposal?: string;
  /** Of an operation: the cluster has reported one of that name that came by no intent known here. */
  readonly isNameReported?: boolean;
  /** Size of the rendered manifest in bytes, once there is one. */
  readonly manifestBytes?: number;
}
