import type { Kysely } from 'kysely';
import type { IntentAction, IntentRecord } from '../../intent/intent-record.ts';
import {
  builtInParameters,
  resolveTemplate,
  type ResolvedTemplate,
} from '../../operation-templates/resolve-template.ts';
import { otherNamespacesOf } from '../../policy/other-namespaces.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import type { OperationTemplateDefinition } from '../../protocol/operation-template.ts';
import type { Database } from '../store/schema.ts';
import { presentInstances, type InstanceName, type PresentInstance } from '../store/standing-instances.ts';

/** Of an intent, what decides whether it needs an approval. */
export interface ApprovalSubject {
  readonly organizationId: string;
  readonly clusterId: string;
  readonly record: {
    readonly action: IntentAction;
    readonly namespace: string;
    readonly name?: string;
    readonly catalogEntry?: string;
    readonly operationTemplate?: string;
    readonly parameters?: Readonly<Record<string, unknown>>;
    /** Where it has its effect, where that is another one. */
    readonly targetNamespace?: string;
    readonly targetRef?: { readonly name?: string; readonly namespace?: string };
    readonly cancel?: unknown;
  };
}

export function subjectOf(intent: {
  readonly organization_id: string;
  readonly cluster_id: string;
  readonly record: string;
}): ApprovalSubject {
  const { organization_id: organizationId, cluster_id: clusterId, record } = intent;
  return { organizationId, clusterId, record: parseExactJson(record) as IntentRecord };
}

/** Where an intent has its effect, and of which catalog entries. */
export interface Effect {
  readonly namespaces: readonly string[];
  readonly catalogEntries: readonly string[];
}

/** An application that an intent is about without saying where it is. */
interface About extends InstanceName {
  /** It is taken to a version or values that somebody named, which is what an update does. */
  readonly isChanged: boolean;
}

type Definitions = (organizationId: string) => readonly OperationTemplateDefinition[];

/**
 * What the intents do, with a query or none however many they are. What an uninstall takes away, and what an operation does
 * to an application, is done where that has its effect, as its newest intent in the cluster says and those under way.
 */
export async function effectsOf(
  db: Kysely<Database>,
  subjects: readonly ApprovalSubject[],
  definitionsOf: Definitions,
): Promise<readonly Effect[]> {
  const about = subjects.map((subject) => aboutOf(subject, definitionsOf(subject.organizationId)));
  const present = await presentInstances(
    db,
    about.filter((one) => one !== undefined),
  );
  return subjects.map((subject, index): Effect => {
    const { record, organizationId } = subject;
    const target = about[index];
    const instances = target === undefined ? [] : present.filter((one) => isSame(one, target));
    return {
      namespaces: [
        record.namespace,
        ...otherNamespacesOf(placedOf(record), { templateDefinitions: definitionsOf(organizationId) }),
        ...instances.flatMap(({ targetNamespace }) => targetNamespace ?? []),
      ],
      catalogEntries: [
        ...(record.action === 'install' || record.action === 'update' ? [record.catalogEntry] : []),
        ...(target?.isChanged === true ? instances.map(({ catalogEntry }) => catalogEntry) : []),
      ].filter((name) => name !== undefined),
    };
  });
}

function placedOf(record: ApprovalSubject['record']): Parameters<typeof otherNamespacesOf>[0] {
  const { namespace, targetNamespace, targetRef, operationTemplate: template, parameters } = record;
  return { metadata: { namespace }, spec: { targetNamespace, targetRef, template, parameters } };
}

function aboutOf(
  { clusterId, record }: ApprovalSubject,
  definitions: readonly OperationTemplateDefinition[],
): About | undefined {
  const { action, namespace, name = '', operationTemplate = '', parameters = {}, targetRef } = record;
  if (action === 'uninstall') return { clusterId, namespace, name, isChanged: false };
  if (action !== 'operate') return undefined;
  const resolved = resolveTemplate(operationTemplate, definitions);
  if (resolved?.runs !== 'release-rollback' && resolved?.runs !== 'release-reconcile') return undefined;
  const { application, chartVersion, values } = filled(resolved, parameters);
  return {
    clusterId,
    namespace,
    name: targetRef?.name ?? (typeof application === 'string' ? application : ''),
    isChanged: chartVersion !== undefined || values !== undefined,
  };
}

function filled(
  resolved: ResolvedTemplate,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  try {
    return builtInParameters(resolved, given);
  } catch (error) {
    // A required one is absent, by a template that was changed since: the operator runs nothing of it.
    if (error instanceof TypeError) return {};
    throw error;
  }
}

function isSame(one: PresentInstance, other: InstanceName): boolean {
  return one.clusterId === other.clusterId && one.namespace === other.namespace && one.name === other.name;
}
