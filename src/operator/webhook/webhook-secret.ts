import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { META_FIELD_MANAGER, WEBHOOK_SECRET } from '../../resources/labels.ts';
import { Secret } from '../../runtime/secret.ts';
import { bundleOf, type WebhookKeys } from './certificate-plan.ts';

interface SecretObject extends KubeObject {
  data?: Record<string, string>;
}

/** The Secret as it stands; `keys` is undefined when it holds no keys. */
export interface StoredKeys {
  readonly keys: WebhookKeys | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly resourceVersion: string;
}

const AUTHORITY = 'ca.crt';
const AUTHORITY_KEY = 'ca.key';
const SERVING = 'tls.crt';
const SERVING_KEY = 'tls.key';
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** @throws KubeError */
export async function readWebhookKeys(
  api: ClusterApi,
  namespace: string,
  signal: AbortSignal,
): Promise<StoredKeys | undefined> {
  const ref = { apiVersion: 'v1', kind: 'Secret', namespace, name: WEBHOOK_SECRET };
  const object = await api.get<SecretObject>(ref, signal);
  if (object === undefined) return undefined;
  const text = (name: string): string => Buffer.from(object.data?.[name] ?? '', 'base64').toString('utf8');
  const [authority, ...retired] = text(AUTHORITY).match(PEM) ?? [];
  const serving = text(SERVING);
  return {
    keys:
      authority === undefined || serving === ''
        ? undefined
        : {
            authority: { certificate: authority, key: new Secret(text(AUTHORITY_KEY)) },
            retired,
            serving: { certificate: serving, key: new Secret(text(SERVING_KEY)) },
          },
    labels: object.metadata.labels ?? {},
    resourceVersion: object.metadata.resourceVersion ?? '',
  };
}

/**
 * Writes the keys where the Secret is still what was read, or still not there.
 *
 * @returns false when another replica was first: read again
 * @throws KubeError
 */
export async function writeWebhookKeys(
  api: ClusterApi,
  namespace: string,
  write: {
    readonly keys: WebhookKeys;
    readonly labels: Readonly<Record<string, string>>;
    readonly replaces: StoredKeys | undefined;
  },
  signal: AbortSignal,
): Promise<boolean> {
  const { keys, labels, replaces } = write;
  const base64 = (value: string): string => Buffer.from(value, 'utf8').toString('base64');
  const data = {
    [AUTHORITY]: base64(bundleOf(keys)),
    [AUTHORITY_KEY]: base64(keys.authority.key.expose()),
    [SERVING]: base64(keys.serving.certificate),
    [SERVING_KEY]: base64(keys.serving.key.expose()),
  };
  const identity = { apiVersion: 'v1', kind: 'Secret' };
  try {
    if (replaces === undefined) {
      const metadata = { name: WEBHOOK_SECRET, namespace, labels: { ...labels } };
      await api.create({ ...identity, metadata, type: 'Opaque', data }, META_FIELD_MANAGER, signal);
    } else {
      const ref = { ...identity, namespace, name: WEBHOOK_SECRET };
      const metadata = { resourceVersion: replaces.resourceVersion, labels };
      await api.mergePatch(ref, { metadata, data }, { fieldManager: META_FIELD_MANAGER }, signal);
    }
    return true;
  } catch (error) {
    if (error instanceof KubeError && (error.status === 409 || error.status === 404)) return false;
    throw error;
  }
}
