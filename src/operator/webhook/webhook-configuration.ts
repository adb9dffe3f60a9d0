import { KubeError, type ClusterApi, type JsonPatchOperation } from '../../kube/cluster-api.ts';
import { KIND_NOT_FOUND } from '../../kube/kube-fault.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { META_FIELD_MANAGER } from '../../resources/labels.ts';

export const WEBHOOK_CONFIGURATION = 'service-operator';

const REF = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  name: WEBHOOK_CONFIGURATION,
};

export interface WebhookConfiguration extends KubeObject {
  webhooks?: { name: string; clientConfig: { caBundle?: string } }[];
}

/** Undefined when the cluster has none, which is no fault: then nobody asks. @throws KubeError */
export async function readConfiguration(
  api: ClusterApi,
  signal: AbortSignal,
): Promise<WebhookConfiguration | undefined> {
  try {
    return await api.get<WebhookConfiguration>(REF, signal);
  } catch (error) {
    if (error instanceof KubeError && error.reason === KIND_NOT_FOUND) return undefined;
    throw error;
  }
}

/** Whether every webhook of the configuration trusts exactly these authorities. */
export function trusts(configuration: WebhookConfiguration, bundle: string): boolean {
  return bundlePatch(configuration, bundle).length === 0;
}

/**
 * Writes the authorities to trust into each webhook that has others, whoever wrote them.
 *
 * @returns false when the configuration was changed meanwhile: read again
 * @throws KubeError
 */
export async function publishBundle(
  api: ClusterApi,
  configuration: WebhookConfiguration,
  bundle: string,
  signal: AbortSignal,
): Promise<boolean> {
  const patch = bundlePatch(configuration, bundle);
  if (patch.length === 0) return true;
  const { resourceVersion } = configuration.metadata;
  const test: JsonPatchOperation = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion };
  try {
    await api.jsonPatch(REF, [test, ...patch], { fieldManager: META_FIELD_MANAGER }, signal);
    return true;
  } catch (error) {
    // 422 is how the API server answers a `test` that does not hold.
    if (error instanceof KubeError && [404, 409, 422].includes(error.status)) return false;
    throw error;
  }
}

function bundlePatch({ webhooks = [] }: WebhookConfiguration, bundle: string): readonly JsonPatchOperation[] {
  const value = Buffer.from(bundle, 'utf8').toString('base64');
  return webhooks.flatMap(({ clientConfig }, index) =>
    clientConfig.caBundle === value
      ? []
      : [{ op: 'add' as const, path: `/webhooks/${index}/clientConfig/caBundle`, value }],
  );
}
