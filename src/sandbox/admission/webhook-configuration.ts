import type { KubeObject } from '../../resources/kube-object.ts';
import { isJsonObject, listAt, objectAt, stringAt, type JsonObject } from '../json-value.ts';
import { nameFaults } from '../metadata-rules.ts';
import { goStrings } from '../schema/go-value.ts';
import type { FieldFault } from '../status-error.ts';

const POLICIES = {
  failurePolicy: ['Fail', 'Ignore'],
  matchPolicy: ['Equivalent', 'Exact'],
  sideEffects: ['None', 'NoneOnDryRun'],
  reinvocationPolicy: ['IfNeeded', 'Never'],
} as const;
const SCOPES = ['*', 'Cluster', 'Namespaced'];
const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const REVIEWS = ['v1', 'v1beta1'];
const FORM = '; desired format: https://host[/path]';

function prepareWebhook(webhook: JsonObject, mutating: boolean): JsonObject {
  const { service, ...clientConfig } = objectAt(webhook, 'clientConfig');
  return {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
    ...(mutating ? { reinvocationPolicy: 'Never' } : {}),
    ...webhook,
    clientConfig: isJsonObject(service) ? { ...clientConfig, service: { port: 443, ...service } } : clientConfig,
    ...(Array.isArray(webhook['rules'])
      ? { rules: webhook['rules'].map((rule) => (isJsonObject(rule) ? { scope: '*', ...rule } : rule)) }
      : {}),
  };
}

/** Defaults that the real server fills in. */
export function prepareWebhooks(object: KubeObject): KubeObject {
  if (!Array.isArray(object['webhooks'])) return object;
  if (object['webhooks'].length === 0) {
    const { webhooks: _, ...rest } = object;
    return { ...rest, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata };
  }
  const mutating = object.kind === 'MutatingWebhookConfiguration';
  const webhooks = object['webhooks'].map((webhook) =>
    isJsonObject(webhook) ? prepareWebhook(webhook, mutating) : webhook,
  );
  return { ...object, webhooks };
}

function required(field: string, detail = ''): FieldFault {
  return { reason: 'FieldValueRequired', field, detail };
}

function invalid(field: string, value: unknown, detail: string): FieldFault {
  return { reason: 'FieldValueInvalid', field, value, detail };
}

function unsupported(field: string, value: unknown, values: readonly string[]): FieldFault {
  const detail = `supported values: ${values.map((text) => JSON.stringify(text)).join(', ')}`;
  return { reason: 'FieldValueNotSupported', field, value, detail };
}

function textFaults(rule: JsonObject, name: string, path: string, what: string): readonly FieldFault[] {
  const field = `${path}.${name}`;
  const list = listAt(rule, name).map(String);
  if (list.length === 0) return [required(field)];
  const wild = list.length > 1 && list.includes('*');
  const detail = `if '*' is present, must not specify other ${what}`;
  const type = name === 'operations' ? '[]admissionregistration.OperationType' : '[]string';
  return wild ? [{ ...invalid(field, list, detail), shown: goStrings(list, type) }] : [];
}

function resourceFaults(resources: readonly string[], field: string): readonly FieldFault[] {
  if (resources.length === 0) return [required(field)];
  const faults: FieldFault[] = [];
  const [wildSubresources, wildResources] = [new Set<string>(), new Set<string>()];
  for (const [index, entry] of resources.entries()) {
    const at = `${field}[${index}]`;
    const [resource = '', subresource] = entry.split('/', 2);
    if (entry === '') faults.push(required(at));
    if (entry === '' || subresource === undefined) continue;
    if (wildSubresources.has(resource)) {
      faults.push(invalid(at, entry, `if '${resource}/*' is present, must not specify ${entry}`));
    }
    if (wildResources.has(subresource)) {
      faults.push(invalid(at, entry, `if '*/${subresource}' is present, must not specify ${entry}`));
    }
    if (subresource === '*') wildSubresources.add(resource);
    if (resource === '*') wildResources.add(subresource);
  }
  const shown = goStrings(resources);
  if (resources.length > 1 && resources.includes('*/*')) {
    faults.push({ ...invalid(field, resources, "if '*/*' is present, must not specify other resources"), shown });
  }
  if (resources.includes('*') && resources.some((entry) => entry !== '*' && !entry.includes('/'))) {
    const detail = "if '*' is present, must not specify other resources without subresources";
    faults.push({ ...invalid(field, resources, detail), shown });
  }
  return faults;
}

function ruleFaults(rule: JsonObject, path: string): readonly FieldFault[] {
  const { scope } = rule;
  return [
    ...textFaults(rule, 'operations', path, 'operations'),
    ...listAt(rule, 'operations').flatMap((operation, index) =>
      OPERATIONS.includes(String(operation))
        ? []
        : [unsupported(`${path}.operations[${index}]`, operation, OPERATIONS)],
    ),
    ...textFaults(rule, 'apiGroups', path, 'API groups'),
    ...textFaults(rule, 'apiVersions', path, 'API versions'),
    ...listAt(rule, 'apiVersions').flatMap((version, index) =>
      version === '' ? [required(`${path}.apiVersions[${index}]`)] : [],
    ),
    ...resourceFaults(listAt(rule, 'resources').map(String), `${path}.resources`),
    ...(SCOPES.includes(String(scope)) ? [] : [unsupported(`${path}.scope`, scope, SCOPES)]),
  ];
}

function urlFaults(text: string, field: string): readonly FieldFault[] {
  const [, scheme = '', host = ''] = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/(?:[^/?#]*@)?([^/?#]*))?/i.exec(text) ?? [];
  const [, user] = /^[^/]*\/\/([^/?#]*)@/.exec(text) ?? [];
  const [beforeFragment = '', fragment = ''] = text.split('#', 2);
  const query = beforeFragment.split('?', 2)[1] ?? '';
  return [
    ...(scheme === 'https' ? [] : [invalid(field, scheme, `'https' is the only allowed URL scheme${FORM}`)]),
    ...(host === '' ? [invalid(field, host, `host must be provided${FORM}`)] : []),
    ...(user === undefined ? [] : [invalid(field, user, 'user information is not permitted in the URL')]),
    ...(fragment === '' ? [] : [invalid(field, fragment, 'fragments are not permitted in the URL')]),
    ...(query === '' ? [] : [invalid(field, query, 'query parameters are not permitted in the URL')]),
  ];
}

function serviceFaults(service: JsonObject, field: string): readonly FieldFault[] {
  const port = Number(service['port']);
  const path = stringAt(service, 'path') ?? '';
  const steps = path.slice(1).replace(/\/$/, '').split('/');
  return [
    ...((stringAt(service, 'name') ?? '') === '' ? [required(`${field}.name`, 'service name is required')] : []),
    ...((stringAt(service, 'namespace') ?? '') === ''
      ? [required(`${field}.namespace`, 'service namespace is required')]
      : []),
    ...(port >= 1 && port <= 65_535
      ? []
      : [invalid(`${field}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive')]),
    ...(path === '' || path.startsWith('/') ? [] : [invalid(`${field}.path`, path, "must start with a '/'")]),
    ...(path === '' || path === '/'
      ? []
      : steps.flatMap((step, index) =>
          step === ''
            ? [invalid(`${field}.path`, path, `segment[${index}] may not be empty`)]
            : nameFaults('subdomain', step).map(({ detail }) =>
                invalid(`${field}.path`, path, `segment[${index}]: ${detail}`),
              ),
        )),
  ];
}

function clientFaults(clientConfig: JsonObject, field: string): readonly FieldFault[] {
  const { url, service } = clientConfig;
  if ((url === undefined) === (service === undefined)) {
    return [required(field, 'exactly one of url or service is required')];
  }
  if (typeof url === 'string') return urlFaults(url, `${field}.url`);
  return serviceFaults(objectAt(clientConfig, 'service'), `${field}.service`);
}

function qualifiedNameFaults(name: string, field: string): readonly FieldFault[] {
  if (name === '') return [required(field)];
  const faults = nameFaults('subdomain', name, field);
  if (faults.length > 0 || name.split('.').length >= 3) return faults;
  return [invalid(field, name, 'should be a domain with at least three segments separated by dots')];
}

function reviewFaults(versions: readonly string[], field: string): readonly FieldFault[] {
  if (versions.length === 0) return [required(field, `must specify one of ${REVIEWS.join(', ')}`)];
  const repeated = versions.flatMap((version, index) =>
    versions.indexOf(version) < index ? [invalid(`${field}[${index}]`, version, 'duplicate version')] : [],
  );
  if (versions.some((version) => REVIEWS.includes(version))) return repeated;
  const detail = `must include at least one of ${REVIEWS.join(', ')}`;
  return [...repeated, { ...invalid(field, versions, detail), shown: goStrings(versions) }];
}

function policyFaults(webhook: JsonObject, path: string): readonly FieldFault[] {
  const faults: FieldFault[] = [];
  for (const policy of ['failurePolicy', 'matchPolicy'] as const) {
    const values: readonly string[] = POLICIES[policy];
    if (!values.includes(String(webhook[policy])))
      faults.push(unsupported(`${path}.${policy}`, webhook[policy], values));
  }
  const { sideEffects, timeoutSeconds } = webhook;
  const field = `${path}.sideEffects`;
  const allowed: readonly string[] = POLICIES.sideEffects;
  if (sideEffects === undefined) faults.push(required(field, `must specify one of ${allowed.join(', ')}`));
  else if (!allowed.some((value) => value === sideEffects)) faults.push(unsupported(field, sideEffects, allowed));
  const seconds = Number(timeoutSeconds);
  if (seconds < 1 || seconds > 30) {
    faults.push(invalid(`${path}.timeoutSeconds`, seconds, 'the timeout value must be between 1 and 30 seconds'));
  }
  const { reinvocationPolicy } = webhook;
  const reinvocations: readonly string[] = POLICIES.reinvocationPolicy;
  if (reinvocationPolicy !== undefined && !reinvocations.some((value) => value === reinvocationPolicy)) {
    faults.push(unsupported(`${path}.reinvocationPolicy`, reinvocationPolicy, reinvocations));
  }
  return faults;
}

/** What the real server refuses of a webhook configuration. */
export function webhookFaults(object: KubeObject): readonly FieldFault[] {
  const webhooks = listAt(object, 'webhooks').filter(isJsonObject);
  const names = webhooks.map((webhook) => stringAt(webhook, 'name') ?? '');
  return webhooks.flatMap((webhook, index) => {
    const path = `webhooks[${index}]`;
    const name = names[index] ?? '';
    const twice: FieldFault = { reason: 'FieldValueDuplicate', field: `${path}.name`, value: name, detail: '' };
    return [
      ...qualifiedNameFaults(name, `${path}.name`),
      ...listAt(webhook, 'rules').flatMap((rule, at) =>
        isJsonObject(rule) ? ruleFaults(rule, `${path}.rules[${at}]`) : [],
      ),
      ...policyFaults(webhook, path),
      ...clientFaults(objectAt(webhook, 'clientConfig'), `${path}.clientConfig`),
      ...reviewFaults(listAt(webhook, 'admissionReviewVersions').map(String), `${path}.admissionReviewVersions`),
      ...(name !== '' && names.indexOf(name) < index ? [twice] : []),
    ];
  });
}
