import type { KubeObject } from '../resources/kube-object.ts';
import { issueAccountToken } from './account-token.ts';
import { withoutAdmission } from './admission/admission-step.ts';
import type { Authentication } from './authentication.ts';
import { objectAt, stringAt } from './json-value.ts';
import type { KindRegistry } from './kind-registry.ts';
import type { ObjectRemover } from './object-remover.ts';
import type { ObjectWriter } from './object-writer.ts';
import type { Storage, StoredEvent } from './storage.ts';

const TYPE = 'kubernetes.io/service-account-token';
const ACCOUNT_NAME = 'kubernetes.io/service-account.name';
const ACCOUNT_UID = 'kubernetes.io/service-account.uid';
const CONTROLLER = { manager: 'kube-controller-manager', dryRun: false } as const;

interface TokenSecretDeps {
  readonly storage: Storage;
  readonly registry: KindRegistry;
  readonly writer: ObjectWriter;
  readonly remover: ObjectRemover;
  readonly authentication: Authentication;
  /** PEM of what signed the server's certificate. */
  readonly ca: string | undefined;
}

/** Puts a token that does not end into each Secret that asks for one of an account, and removes the Secret with the account. */
export class TokenSecretController {
  readonly #deps: TokenSecretDeps;

  constructor(deps: TokenSecretDeps) {
    this.#deps = deps;
  }

  /** Runs after the write that caused the event has been answered. */
  react({ type, resource, object }: StoredEvent): void {
    const { namespace = '', name } = object.metadata;
    if (resource === 'secrets' && type !== 'DELETED') this.#reconcile(object);
    if (resource !== 'serviceaccounts' || type === 'MODIFIED') return;
    for (const secret of this.#deps.storage.list('secrets', namespace)) {
      if (secret.metadata.annotations?.[ACCOUNT_NAME] === name) this.#reconcile(secret);
    }
  }

  #reconcile({ metadata: { namespace = '', name } }: KubeObject): void {
    const { storage, registry, writer, remover, authentication, ca } = this.#deps;
    const kind = registry.byResource('secrets');
    const secret = storage.get('secrets', namespace, name);
    const annotations = secret?.metadata.annotations ?? {};
    const accountName = annotations[ACCOUNT_NAME];
    if (kind === undefined || secret?.['type'] !== TYPE || accountName === undefined) return;
    const uid = storage.get('serviceaccounts', namespace, accountName)?.metadata.uid;
    const known = annotations[ACCOUNT_UID];
    if (known !== undefined && known !== uid) {
      remover.remove(kind, namespace, name, { policy: 'Background', dryRun: false });
      return;
    }
    if (uid === undefined || stringAt(objectAt(secret, 'data'), 'token') !== undefined) return;
    const encoded = (text: string): string => Buffer.from(text).toString('base64');
    const about = 'kubernetes.io/serviceaccount';
    const claims = {
      iss: about,
      [`${about}/namespace`]: namespace,
      [`${about}/secret.name`]: name,
      [`${about}/service-account.name`]: accountName,
      [`${about}/service-account.uid`]: uid,
    };
    const token = issueAccountToken(
      { storage, authentication },
      { namespace, name: accountName, uid },
      claims,
      (text) => stringAt(objectAt(storage.get('secrets', namespace, name), 'data'), 'token') === encoded(text),
    );
    const data = {
      ...objectAt(secret, 'data'),
      token: encoded(token),
      namespace: encoded(namespace),
      ...(ca === undefined ? {} : { 'ca.crt': encoded(ca) }),
    };
    const metadata = { ...secret.metadata, annotations: { ...annotations, [ACCOUNT_UID]: uid } };
    const address = { kind, namespace, name, subresource: '' } as const;
    withoutAdmission(writer.update(address, () => ({ ...secret, metadata, data }), { ...CONTROLLER, replaces: true }));
  }
}
