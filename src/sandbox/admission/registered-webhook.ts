import type { KubeObject } from '../../resources/kube-object.ts';
import { isJsonObject, listAt, objectAt, stringAt, type JsonObject } from '../json-value.ts';
import { labelSelectorMatches } from './label-selector.ts';
import type { AdmissionStep } from './admission-step.ts';

export interface WebhookRule {
  readonly operations: readonly string[];
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
  readonly scope: string;
}

/** One entry of a webhook configuration, read once when the configuration is written. */
export interface RegisteredWebhook {
  readonly name: string;
  readonly rules: readonly WebhookRule[];
  readonly clientConfig: JsonObject;
  readonly ignoresFailures: boolean;
  readonly matchesEquivalents: boolean;
  readonly reinvocable: boolean;
  readonly reviewVersions: readonly string[];
  readonly timeoutSeconds: number;
  readonly dryRunIsSafe: boolean;
  readonly selectsNamespace: (labels: Readonly<Record<string, string>>) => boolean;
  readonly selectsObject: (labels: Readonly<Record<string, string>>) => boolean;
}

function textsAt(value: unknown, field: string): readonly string[] {
  return listAt(value, field).map(String);
}

/** The webhooks of a stored configuration, defaults filled in. */
export function webhooksOf(configuration: KubeObject): readonly RegisteredWebhook[] {
  return listAt(configuration, 'webhooks')
    .filter(isJsonObject)
    .map((webhook) => ({
      name: stringAt(webhook, 'name') ?? '',
      rules: listAt(webhook, 'rules').map((rule) => ({
        operations: textsAt(rule, 'operations'),
        apiGroups: textsAt(rule, 'apiGroups'),
        apiVersions: textsAt(rule, 'apiVersions'),
        resources: textsAt(rule, 'resources'),
        scope: stringAt(rule, 'scope') ?? '*',
      })),
      clientConfig: objectAt(webhook, 'clientConfig'),
      ignoresFailures: webhook['failurePolicy'] === 'Ignore',
      matchesEquivalents: webhook['matchPolicy'] !== 'Exact',
      reinvocable: webhook['reinvocationPolicy'] === 'IfNeeded',
      reviewVersions: textsAt(webhook, 'admissionReviewVersions'),
      timeoutSeconds: typeof webhook['timeoutSeconds'] === 'number' ? webhook['timeoutSeconds'] : 10,
      dryRunIsSafe: ['None', 'NoneOnDryRun'].includes(stringAt(webhook, 'sideEffects') ?? ''),
      selectsNamespace: labelSelectorMatches(objectAt(webhook, 'namespaceSelector')),
      selectsObject: labelSelectorMatches(objectAt(webhook, 'objectSelector')),
    }));
}

function includes(list: readonly string[], wanted: string): boolean {
  return list.includes('*') || list.includes(wanted);
}

/** Whether a rule is about the request, had it been made for this version of the kind. */
export function ruleMatches(rule: WebhookRule, step: AdmissionStep, version: string): boolean {
  const { kind, operation, subresource } = step;
  if (!includes(rule.operations, operation) || !includes(rule.apiGroups, kind.group)) return false;
  if (!includes(rule.apiVersions, version)) return false;
  if (rule.scope === 'Namespaced' && !kind.namespaced) return false;
  if (rule.scope === 'Cluster' && kind.namespaced) return false;
  return rule.resources.some((entry) => {
    const [resource, sub = ''] = entry.split('/', 2);
    return (resource === '*' || resource === kind.plural) && (sub === '*' || sub === subresource);
  });
}
